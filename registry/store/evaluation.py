"""What the evaluation run of a decision holds: parameters, metrics and artifacts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from evalsets.records import digest
from registry.gate.decision import GateResult
from registry.store import tables
from registry.store.bundle import Bundle
from registry.store.content import EVALUATION_TABLE, Content, key
from registry.store.describe import decision_note
from registry.store.markup import plain
from registry.store.measurement import measurement
from registry.store.serving import serving_sha256


@dataclass(frozen=True)
class Evaluation:
    """One run in the experiment `evaluations`, found again by its decision's digest, and one per measured run.

    Load measured again makes another one: `serving_sha256` (empty without a load profile) tells them apart.

    Metrics of `content`: accuracies are shares (0 to 1), completion tokens a mean per answer, bounds and margins
    percentage points, the rest are counts. `measurements` maps a measured run to its content.
    """

    decision_sha256: str
    content: Content
    measurements: dict[str, Content]
    serving_sha256: str = ""


def evaluation(bundle: Bundle) -> Evaluation:
    """The evaluation run of a decision and its evidence."""
    decision = bundle.decision
    metrics = _accuracies(bundle) | _paired(bundle) | _gates(bundle)
    content = Content(
        name=f"{decision.profile} {digest(decision)[:12]}",
        note=decision_note(decision),
        params={key(name): plain(value) for name, value in _params(bundle).items()},
        metrics={key(name): value for name, value in metrics.items()},
        tables={EVALUATION_TABLE: tables.labels(bundle)},
        artifacts=bundle.artifacts,
    )
    measurements = {run: measurement(run, bundle) for run in bundle.metrics}
    return Evaluation(digest(decision), content, measurements, serving_sha256(bundle.serving))


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
    """Per suite and run: accuracy strict and tolerant, what was not judged, count per error label and family."""
    found: dict[str, float | None] = {}
    for run, measured in bundle.metrics.items():
        for suite, numbers in measured.suites.items():
            name = f"{suite}/{run}"
            found[f"accuracy_strict/{name}"] = numbers.strict_rate
            found[f"accuracy_tolerant/{name}"] = numbers.tolerant_rate
            found[f"unjudged/{name}"] = numbers.n - numbers.judged
            found[f"completion_tokens/{name}"] = numbers.mean_completion_tokens
            found |= {f"errors/{name}/{label}": count for label, count in numbers.primary.items()}
            found |= {f"headline/{name}/{family}": count for family, count in numbers.families.items()}
    return {name: value for name, value in found.items() if value is not None}


def _paired(bundle: Bundle) -> dict[str, float]:
    """Per suite and run: losses and gains against the baseline (strict), and how many answers are the same."""
    found: dict[str, float] = {}
    for run, comparison in bundle.comparisons.items():
        for suite, compared in comparison.suites.items():
            found[f"losses/{suite}/{run}"] = compared.strict.losses
            found[f"gains/{suite}/{run}"] = compared.strict.gains
            found[f"identical/{suite}/{run}"] = compared.identical
    return found


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
