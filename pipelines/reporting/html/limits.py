"""What a scene's gates could not have decided in any case, with suites of this size: exact, not measured."""

from __future__ import annotations

import math

from scipy.stats import beta

from pipelines.reporting.material import Material
from registry.gate.decision import GateResult, SceneDecision
from registry.gate.hard_rules import most_new_losses
from registry.gate.outcome import printed, table_of
from registry.gate.policy import MustPass, NewLosses, NonInferiority
from registry.gate.power import PLANNED_PSI, TARGET_POWER, power, smallest_margin
from registry.gate.tango import bounds

SLIPS_THROUGH = 0.05
NOTHING = "Nothing was to be decided: only the baseline may serve this scene."


def limits(scene: SceneDecision, material: Material) -> list[str]:
    """Sentences per gate: which drops, which rates of losses and which items it cannot see. Empty for no such gate."""
    rules = material.profile.policy.scenes[scene.scene]
    if all(candidate == material.decision.baseline for candidate in rules.candidates):
        return [NOTHING]
    found = []
    for rule in rules.gates:
        match rule:
            case NonInferiority():
                found += _resolution(rule, gate_size(rule, scene, material)) + _measured(rule, scene, material)
            case NewLosses():
                found.append(_rate(rule, material))
            case MustPass():
                marked = len(material.again.suites[rule.suite].must_pass)
                found.append(f"must_pass on {rule.suite} sees the {marked} marked items and no other.")
    return found


def gate_size(rule: NonInferiority, scene: SceneDecision, material: Material) -> int:
    """How many independent items the gate had: what its results say, else the items of the suite that were judged."""
    results = [gate for verdict in scene.candidates for gate in verdict.gates if _is_of(gate, rule)]
    sizes = [gate.n for gate in results if gate.n] or [table_of(material.again.suites[rule.suite], rule.verdict).n]
    return max(1, math.floor(min(sizes)))


def measured_psi(rule: NonInferiority, material: Material) -> dict[str, float]:
    """Per run the share of the judged items on which it disagrees with the baseline; baseline-again's comes last."""
    found = {}
    for run, comparison in [*material.candidates.items(), (material.again.candidate, material.again)]:
        table = table_of(comparison.suites[rule.suite], rule.verdict)
        if table.n:
            found[run] = (table.losses + table.gains) / table.n
    return found


def _is_of(gate: GateResult, rule: NonInferiority) -> bool:
    return (gate.test, gate.suite, gate.verdict) == (rule.test, rule.suite, rule.verdict)


def _resolution(rule: NonInferiority, n: int) -> list[str]:
    smallest, (lower, _) = smallest_margin(n, rule.alpha, PLANNED_PSI), bounds(0, 0, n, rule.alpha)
    return [
        f"{rule.suite} {rule.verdict}, {n} items, margin {rule.margin_pp:g} pp: a margin under {100 * smallest:.1f} pp "
        f"would have been out of reach. An equal candidate that disagrees on {_percent(PLANNED_PSI)} of the items "
        f"would pass it in less than {_percent(TARGET_POWER)} of the runs.",
        f"Even without one disagreement a true drop of up to {-100 * lower:.2f} pp stays possible; one item is "
        f"{100 / n:.2f} pp.",
    ]


def _measured(rule: NonInferiority, scene: SceneDecision, material: Material) -> list[str]:
    n, own = gate_size(rule, scene, material), {verdict.candidate for verdict in scene.candidates}
    chances = [
        f"{100 * power(n, rule.margin_pp / 100, rule.alpha, psi):.0f} % at {run}'s {100 * psi:.1f} %"
        for run, psi in measured_psi(rule, material).items()
        if run in own
    ]
    if not chances:
        return []
    return [f"Probability that an equal candidate passes, at the disagreement seen: {', '.join(chances)}."]


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _rate(rule: NewLosses, material: Material) -> str:
    n = material.again.suites[rule.suite].strict.n
    allowed = most_new_losses(rule, 0)
    rate = 1.0 if allowed >= n else float(beta.isf(SLIPS_THROUGH, allowed + 1, n - allowed))
    return (
        f"new_losses on {rule.suite}: a true rate of {100 * rate:.1f} % of such losses still meets the rule in "
        f"{_percent(SLIPS_THROUGH)} of the runs on {printed(n)} items."
    )
