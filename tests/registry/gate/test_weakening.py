"""A policy that asks less than the last one: every clause named, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from registry.gate.policy import Policy
from registry.gate.weakening import weaker

GATES: list[dict[str, Any]] = [
    {"test": "noninferiority", "suite": "tools", "margin_pp": 4.0, "design_effect": 1.5},
    {"test": "noninferiority", "suite": "tools", "verdict": "tolerant", "margin_pp": 3.0},
    {"test": "new_losses", "suite": "tools", "families": ["numbers", "json_syntax"], "max_new_losses": 1},
    {"test": "baseline_floor", "suite": "tools", "min_accuracy": 0.7},
    {"test": "must_pass", "suite": "tools"},
]


def settings() -> dict[str, Any]:
    scene = {
        "traffic_share": 1.0,
        "candidates": ["fp8", "bf16"],
        "require": "fp8",
        "gates": [dict(gate) for gate in GATES],
    }
    return {"baseline": "bf16", "scenes": {"tools": scene}}


def gate(index: int, **changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda policy: policy["scenes"]["tools"]["gates"][index].update(changes)


def drop(index: int) -> Callable[[dict[str, Any]], None]:
    return lambda policy: policy["scenes"]["tools"]["gates"].pop(index)


CHANGES: list[tuple[Callable[[dict[str, Any]], Any], list[str]]] = [
    (lambda policy: None, []),
    (gate(0, margin_pp=5.0), ["scenes.tools.gates: noninferiority on tools: margin_pp 5 instead of 4"]),
    (gate(0, margin_pp=3.0), []),
    (gate(0, alpha=0.1), ["scenes.tools.gates: noninferiority on tools: alpha 0.1 instead of 0.05"]),
    (gate(0, design_effect=1.0), ["scenes.tools.gates: noninferiority on tools: design_effect 1 instead of 1.5"]),
    (gate(1, margin_pp=9.0), ["scenes.tools.gates: noninferiority on tools: margin_pp 9 instead of 3"]),
    (gate(2, max_new_losses=2), ["scenes.tools.gates: new_losses on tools: max_new_losses 2 instead of 1"]),
    (gate(2, noise_alpha=0.0), ["scenes.tools.gates: new_losses on tools: noise_alpha 0 instead of 0.05"]),
    (gate(2, families=["numbers"]), ["scenes.tools.gates: new_losses on tools: families: without json_syntax"]),
    (gate(3, min_accuracy=0.5), ["scenes.tools.gates: baseline_floor on tools: min_accuracy 0.5 instead of 0.7"]),
    (drop(4), ["scenes.tools.gates: no must_pass on tools any more"]),
    (drop(1), ["scenes.tools.gates: no noninferiority on tools any more"]),
    (lambda policy: policy.update(max_attempts=2), ["max_attempts: 2 instead of 1"]),
    (lambda policy: policy.update(max_unjudged_rate=0.1), ["max_unjudged_rate: 0.1 instead of 0.005"]),
    (lambda policy: policy.update(baseline="fp8"), ["baseline: fp8 instead of bf16"]),
    (lambda policy: policy["scenes"]["tools"].update(require="none"), ["scenes.tools.require: none instead of fp8"]),
    (lambda policy: policy["scenes"].update(other=policy["scenes"].pop("tools")), ["scenes.tools: is gone"]),
    (lambda policy: policy["scenes"].update(more=policy["scenes"]["tools"]), []),
]


@pytest.mark.parametrize(("change", "found"), CHANGES)
def test_each_clause(change: Callable[[dict[str, Any]], Any], found: list[str]) -> None:
    new = settings()
    change(new)
    assert weaker(Policy.model_validate(settings()), Policy.model_validate(new)) == found
