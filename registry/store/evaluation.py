"""What the evaluation run of a decision holds: parameters, metrics and artifacts. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from evalsets.records import digest
from registry.evidence import PairedTable, SuiteComparison
from registry.gate.decision import GateResult
from registry.store.bundle import Bundle
from registry.store.markup import plain


@dataclass(frozen=True)
class Evaluation:
    """One run in the experiment `evaluations`, found again by its decision's digest.

    `metrics`: accuracies are shares (0 to 1), bounds and margins percentage points, the rest are counts.
    """

    name: str
    decision_sha256: str
    params: dict[str, str]
    metrics: dict[str, float]
    artifacts: dict[str, Path]


def evaluation(bundle: Bundle) -> Evaluation:
    """The evaluation run of a decision and its evidence."""
    decision = bundle.decision
    return Evaluation(
        name=f"{decision.profile} {digest(decision)[:12]}",
        decision_sha256=digest(decision),
        params={_key(key): plain(value) for key, value in _params(bundle).items()},
        metrics={_key(key): value for key, value in (_accuracies(bundle) | _gates(bundle)).items()},
        artifacts=bundle.artifacts,
    )


def _params(bundle: Bundle) -> dict[str, str]:
    decision = bundle.decision
    params = {
        "profile": decision.profile,
        "baseline": decision.baseline,
        "policy_sha256": decision.policy_sha256,
        "exit_code": str(decision.exit_code),
        "judge_version": bundle.judge_version,
    }
    for variant, weights in decision.weights.items():
        params[f"weights/{variant}"] = weights
        params[f"recipe/{variant}"] = bundle.manifests[variant].recipe
    for variant, execution in decision.executions.items():
        params[f"device/{variant}"] = execution.device
        params[f"kernel/{variant}"] = execution.linear_kernel
        params[f"engine/{variant}"] = f"{execution.engine} {execution.engine_version}"
        params[f"numerics/{variant}"] = execution.note or f"w{execution.weight_bits}a{execution.activation_bits}"
    for scene in decision.scenes:
        params[f"chosen/{scene.scene}"] = scene.chosen
        params |= {f"verdict/{scene.scene}/{verdict.candidate}": verdict.outcome for verdict in scene.candidates}
    return params


def _accuracies(bundle: Bundle) -> dict[str, float]:
    """Per suite and run: accuracy strict and tolerant, losses and gains against the baseline, count per error label.

    Counted over the items that were judged on both sides; the baseline's own numbers are those of its first pairing.
    """
    metrics: dict[str, float] = {}
    for run, comparison in bundle.comparisons.items():
        for suite, compared in comparison.suites.items():
            metrics = _one_side(compared, False, f"{suite}/{comparison.baseline}") | metrics
            metrics |= _one_side(compared, True, f"{suite}/{run}")
            metrics[f"losses/{suite}/{run}"] = compared.strict.losses
            metrics[f"gains/{suite}/{run}"] = compared.strict.gains
            metrics[f"unjudged/{suite}/{run}"] = len(compared.unjudged)
            metrics[f"identical/{suite}/{run}"] = compared.identical
    return metrics


def _one_side(compared: SuiteComparison, candidate: bool, name: str) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for kind, table in (("strict", compared.strict), ("tolerant", compared.tolerant)):
        if table.n:
            metrics[f"accuracy_{kind}/{name}"] = _right(table, candidate) / table.n
    for transition in compared.transitions:
        label = transition.candidate if candidate else transition.baseline
        if label != "ok":
            key = f"errors/{name}/{label}"
            metrics[key] = metrics.get(key, 0) + transition.count
    metrics[f"completion_tokens/{name}"] = compared.candidate_tokens if candidate else compared.baseline_tokens
    return metrics


def _right(table: PairedTable, candidate: bool) -> int:
    return table.both_right + (table.gains if candidate else table.losses)


def _gates(bundle: Bundle) -> dict[str, float]:
    """Per scene, candidate and gate (numbered from 1 in the policy's order) the numbers of the decision."""
    metrics: dict[str, float] = {}
    for scene in bundle.decision.scenes:
        for verdict in scene.candidates:
            for number, gate in enumerate(verdict.gates, 1):
                prefix = f"gate/{scene.scene}/{verdict.candidate}/{number}-{gate.test}"
                metrics |= {f"{prefix}/{name}": value for name, value in _numbers(gate).items()}
    return metrics


def _numbers(gate: GateResult) -> dict[str, float]:
    numbers: dict[str, float | None] = {
        "n": gate.n,
        "losses": gate.losses,
        "gains": gate.gains,
        "drop_pp": gate.drop_pp,
        "lower_pp": gate.lower_pp,
        "upper_pp": gate.upper_pp,
        "margin_pp": gate.margin_pp,
        "losses_that_pass": gate.losses_that_pass,
        "losses_that_fail": gate.losses_that_fail,
    }
    return {name: value for name, value in numbers.items() if value is not None}


def _key(name: str) -> str:
    """A name MLflow takes: letters, digits, `_`, `-`, `.`, space and `/`, at most 250 characters."""
    return re.sub(r"[^\w./ -]", "_", name)[:250]
