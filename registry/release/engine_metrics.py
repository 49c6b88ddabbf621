"""The engine's metrics that rules and dashboard ask for, and their PromQL. Names and kinds as in vLLM 0.32. Pure."""

from __future__ import annotations

import json
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]
# As vLLM's source names them; on /metrics a counter ends in _total, and a histogram in _bucket, _sum and _count.
METRICS: dict[str, Kind] = {
    "vllm:num_requests_running": "gauge",
    "vllm:num_requests_waiting": "gauge",
    "vllm:kv_cache_usage_perc": "gauge",
    "vllm:num_preemptions": "counter",
    "vllm:prefix_cache_queries": "counter",
    "vllm:prefix_cache_hits": "counter",
    "vllm:prompt_tokens": "counter",
    "vllm:generation_tokens": "counter",
    "vllm:request_success": "counter",
    "vllm:time_to_first_token_seconds": "histogram",
    "vllm:inter_token_latency_seconds": "histogram",
}


def gauge(name: str, served_name: str, aggregate: Literal["sum", "max"]) -> str:
    """A gauge over the engines of a model."""
    return f"{aggregate}({_of(name, 'gauge')}{selector(served_name)})"


def counted(
    name: str, served_name: str, window: str, *, function: Literal["rate", "increase"] = "rate", **labels: str
) -> str:
    """A counter over the engines of a model: its increase in `window`, or that per second. Labels are patterns."""
    return f"sum({function}({_of(name, 'counter')}_total{selector(served_name, **labels)}[{window}]))"


def quantile(name: str, served_name: str, q: float, window: str, offset: str = "") -> str:
    """A quantile (0 to 1) of a histogram over the engines of a model, `offset` earlier.

    Linear between bucket bounds, so no finer than the buckets: of times to the first token they go from 1 to 2.5 s.
    """
    shift = f" offset {offset}" if offset else ""
    rate = f"rate({_of(name, 'histogram')}_bucket{selector(served_name)}[{window}]{shift})"
    return f"histogram_quantile({q:g}, sum by (le) ({rate}))"


def ratio(part: str, whole: str, window: str, offset: str = "") -> str:
    """The increase of `part` over that of `whole` in `window`, `offset` earlier; both series with their selectors."""
    shift = f" offset {offset}" if offset else ""
    return f"sum(rate({part}[{window}]{shift})) / sum(rate({whole}[{window}]{shift}))"


def series(name: str, served_name: str, **labels: str) -> str:
    """A counter's series of a model, labels as patterns."""
    return f"{_of(name, 'counter')}_total{selector(served_name, **labels)}"


def selector(served_name: str, **labels: str) -> str:
    """The label matchers of a model: `model_name` is the served name, the other labels are patterns."""
    matchers = [f"model_name={_quoted(served_name)}"]
    matchers += [f"{label}=~{_quoted(pattern)}" for label, pattern in labels.items()]
    return "{" + ",".join(matchers) + "}"


def _quoted(text: str) -> str:
    # PromQL's strings are Go's; of those, JSON's escapes are a part.
    return json.dumps(text, ensure_ascii=False)


def _of(name: str, kind: Kind) -> str:
    assert METRICS[name] == kind, f"{name} is a {METRICS[name]}, not a {kind}"
    return name
