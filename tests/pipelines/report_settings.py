"""The profile, the items and the tools of the report's small run."""

from __future__ import annotations

from typing import Any

from evalsets.items import QaItem, ToolItem, Toolset
from pipelines.params import AGAIN
from pipelines.profiles import Profile

BASELINE = "bf16"
VARIANTS = [BASELINE, "awq-int4", "fp8"]
RUNS = [*VARIANTS, AGAIN]


def profile(**changes: Any) -> Profile:
    """A profile with both suites, a stand-in model and one subset; `changes` replace whole sections."""
    sampling = dict.fromkeys(["temperature", "min_p", "presence_penalty", "frequency_penalty"], 0.0)
    engine = dict.fromkeys(["max_model_len", "max_num_batched_tokens"], 2048)
    gate = {"test": "noninferiority", "suite": "tools", "margin_pp": 16.0}
    settings: dict[str, Any] = {
        "profile": "demo",
        "model": {
            "source": "folder",
            "name": "little-model",
            "path": "model",
            "repo": "somewhere",
            "revision": "1",
            "licence": "Apache-2.0",
            "stand_in": True,
        },
        "calibration": {"file": "c.jsonl", "samples": 1, "max_tokens": 16, "seed": 1},
        "variants": {variant: {"recipe": f"{variant}.yaml"} for variant in VARIANTS},
        "suites": {"qa": {"path": "qa.jsonl"}, "tools": {"path": "tools.jsonl"}},
        "toolsets": "toolsets.json",
        "engine": engine
        | {"mode": "launch", "command": ["serve"], "device": "cpu", "dtype": "bfloat16", "max_num_seqs": 1}
        | {"prefix_caching": True, "dialect": "bare", "concurrency": 1}
        | {"start_timeout_s": 10, "request_timeout_s": 10},
        "sampling": sampling
        | {"top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "seed": 1, "max_tokens": {"qa": 64, "tools": 256}},
        "runs": {run: {"variant": BASELINE if run == AGAIN else run, "order_seed": 1 + (run == AGAIN)} for run in RUNS},
        "compared": [run for run in RUNS if run != BASELINE],
        "policy": {
            "baseline": BASELINE,
            "scenes": {"tools": {"traffic_share": 1.0, "candidates": ["awq-int4", "fp8", BASELINE], "gates": [gate]}},
        },
        "registry": {"tracking_uri": "sqlite:///mlflow.db"},
    }
    return Profile.model_validate(settings | changes)


def qa_item(number: int, text: str) -> QaItem:
    return QaItem.model_validate(
        {
            "id": f"qa-{number:03}",
            "domain": "service",
            "cluster": "c",
            "split": "release",
            "lang": "zh",
            "messages": [{"role": "user", "content": "first"}, {"role": "user", "content": f"问题 {text}"}],
            "answers": ["42", encodable(text)],
            "match": {"kind": "exact", "normalisers": ["strip"]},
        }
    )


def tool_item(number: int, text: str) -> ToolItem:
    arguments = {"amount": {"any_of": [12900]}, "note": {"any_of": [encodable(text)]}}
    return ToolItem.model_validate(
        {
            "id": f"tc-{number:03}",
            "domain": "tools",
            "cluster": "refunds",
            "split": "release",
            "lang": "en",
            "must_pass": number == 0,
            "toolset": "refunds",
            "messages": [{"role": "user", "content": f"Refund {text}"}],
            "expect": "call",
            "calls": [{"name": "refund", "args": arguments}],
        }
    )


def toolset() -> Toolset:
    function = {"name": "refund", "description": "Refund.", "parameters": {"type": "object"}}
    return Toolset.model_validate({"name": "refunds", "tools": [{"function": function}]})


def encodable(text: str) -> str:
    """`text` without lone surrogates: a suite file is UTF-8 and holds none."""
    return text.encode(errors="replace").decode()
