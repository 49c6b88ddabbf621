"""Prometheus alert rules of a scene: is what was released there, is it itself, and does it keep up. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from evalsets.records import Record
from registry.release.engine_metrics import counted, gauge, quantile, ratio, selector, series
from registry.release.release import Release, Served
from registry.release.yaml_text import yaml_text

DAY = "1d"
CUT_OFF = "length|repetition"


class Limits(Record):
    """When a rule fires. They are declared, not measured; `worse_than_before` compares with the same engine a day ago.

    `kv_cache_usage` and `cut_off_rate` are shares (0 to 1). `first_token_s` is a budget for the 95th percentile in
    seconds; None: no budget was measured, so the day before is the measure.
    """

    kv_cache_usage: Annotated[float, Field(gt=0, le=1)] = 0.8
    cut_off_rate: Annotated[float, Field(ge=0, le=1)] = 0.01
    worse_than_before: Annotated[float, Field(gt=1)] = 2.0
    first_token_s: Annotated[float, Field(gt=0)] | None = None


def alerts_yaml(release: Release, limits: Limits | None = None) -> str:
    """One rule group with the rules of what is released and of its fallback, for `rule_files` of Prometheus."""
    chosen = limits or Limits()
    rules = [rule for served in release.all_served for rule in _rules(release.scene, served, chosen)]
    return yaml_text({"groups": [{"name": f"release-{release.scene}", "rules": rules}]})


def _rules(scene: str, served: Served, limits: Limits) -> Iterator[dict[str, Any]]:
    for name, expression, hold, severity, summary in _alarms(served, limits):
        yield {
            "alert": name,
            "expr": expression,
            "for": hold,
            "labels": {"severity": severity, "scene": scene, "variant": served.variant},
            "annotations": {"summary": f"{scene}: {served.variant}: {summary}"},
        }


Alarm = tuple[str, str, str, Literal["critical", "warning"], str]


def _alarms(served: Served, limits: Limits) -> Iterator[Alarm]:
    """(name, expression, how long it must hold, severity, summary) per rule."""
    name, much = served.served_name, f"{limits.worse_than_before:g}"
    running = f"vllm:num_requests_running{selector(name)}"
    yield "VllmEngineAbsent", f"absent({running})", "2m", "critical", "no engine answers under the released name"
    waiting = f"{gauge('vllm:num_requests_waiting', name, 'sum')} > 0"
    yield "VllmRequestsWaiting", waiting, "5m", "warning", "requests have been queueing for 5 minutes"
    full = f"{gauge('vllm:kv_cache_usage_perc', name, 'max')} > {limits.kv_cache_usage:g}"
    yield "VllmKvCacheFull", full, "10m", "warning", "the KV cache has less headroom than the rollout asks for"
    preempted = f"{counted('vllm:num_preemptions', name, '10m', function='increase')} > 0"
    yield "VllmPreemptions", preempted, "0m", "warning", "requests were preempted: their KV did not fit"
    failed = f"{counted('vllm:request_success', name, '10m', function='increase', finished_reason='error')} > 0"
    yield "VllmRequestErrors", failed, "0m", "critical", "requests ended in an error of the engine"
    yield _first_token(name, limits)
    if "--enable-prefix-caching" in served.flags:
        hits, queries = (series(f"vllm:prefix_cache_{part}", name) for part in ("hits", "queries"))
        fallen = f"{ratio(hits, queries, '30m')} < ({ratio(hits, queries, '30m', DAY)}) / {much}"
        yield "VllmPrefixHitsFallen", fallen, "15m", "warning", "far fewer prompt tokens hit the cache than a day ago"
    ended, cut_off = (series("vllm:request_success", name, **labels) for labels in ({}, {"finished_reason": CUT_OFF}))
    now = ratio(cut_off, ended, "30m")
    more = f"{now} > {much} * ({ratio(cut_off, ended, '30m', DAY)}) and {now} > {limits.cut_off_rate:g}"
    yield "VllmAnswersCutOff", more, "15m", "warning", "far more answers end at a limit or repeat than a day ago"


def _first_token(name: str, limits: Limits) -> Alarm:
    metric = "vllm:time_to_first_token_seconds"
    now = quantile(metric, name, 0.95, "10m")
    if limits.first_token_s is not None:
        return "VllmFirstTokenSlow", f"{now} > {limits.first_token_s:g}", "10m", "warning", "p95 is above its budget"
    earlier = quantile(metric, name, 0.95, "10m", DAY)
    summary = "the 95th percentile of the time to the first token is far above that of a day ago"
    return "VllmFirstTokenSlow", f"{now} > {limits.worse_than_before:g} * {earlier}", "10m", "warning", summary
