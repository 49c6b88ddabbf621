"""What a policy can decide with suites of these sizes, before a run is paid for: exact, as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from evalsets.items import Suite
from evalsets.records import InputError
from registry.gate.attempts import chance_of_any
from registry.gate.hard_rules import most_new_losses
from registry.gate.policy import BaselineFloor, Gate, MustPass, NewLosses, NonInferiority, Policy, Scene
from registry.gate.power import (
    MAX_FALSE_PASS,
    PLANNED_PSI,
    PSIS,
    TARGET_POWER,
    Counts,
    critical_losses,
    false_pass,
    items_needed,
    pass_probability,
    power,
)
from registry.gate.rates import rule_met

GAINS = (0, 1, 2, 4, 6, 8, 12)
LOSS_RATES = (0.001, 0.003, 0.01, 0.02)
Row = tuple[str, Sequence[str]]


def explain(policy: Policy, suite_sizes: Mapping[Suite, int]) -> str:
    """The text: per scene and gate what passes, how often it errs, and what it can decide.

    Raises `InputError` as `refuse_unsound` does.
    """
    refuse_unsound(policy, suite_sizes)
    lines = [f"Baseline {policy.baseline}. Calculated, not measured: exact sums over n independent items."]
    for name, scene in policy.scenes.items():
        others = [candidate for candidate in scene.candidates if candidate != policy.baseline]
        lines += ["", f"scene {name}: candidates {', '.join(scene.candidates)}; required: {scene.require}"]
        if not others:
            lines.append("  only the baseline may serve it: nothing to decide")
            continue
        for gate in scene.gates:
            lines += [f"  {line}" for line in _gate(gate, suite_sizes)]
            lines += [f"    {line}" for line in _attempts(gate, suite_sizes, policy.max_attempts)]
        lines += [f"  {line}" for line in _joint(scene, suite_sizes)]
    return "\n".join(lines)


def decidable(policy: Policy, suite_sizes: Mapping[Suite, int]) -> bool:
    """Whether every non-inferiority gate has 80 % power at psi 4 % for a candidate equal to the baseline."""
    return all(
        power(_count(gate, _size(key, gate, suite_sizes)), gate.margin_pp / 100, gate.alpha, PLANNED_PSI)
        >= TARGET_POWER
        for key, gate in _noninferiority(policy)
    )


def refuse_unsound(policy: Policy, suite_sizes: Mapping[Suite, int]) -> None:
    """Raise `InputError` naming each gate that passes a true loss of its margin in more than 5.5 % of runs.

    Exact, at the worst psi from the margin to 25 %. Also raised for a gate on a suite without a size.
    """
    found = []
    for key, gate in _noninferiority(policy):
        n = _count(gate, _size(key, gate, suite_sizes))
        worst = false_pass(n, gate.margin_pp / 100, gate.alpha)
        if worst.rate > MAX_FALSE_PASS:
            found.append(
                f"{key}: {gate.margin_pp:g} pp on {n} items passes a true loss of that size in "
                f"{100 * worst.rate:.2f} % of runs (psi {100 * worst.psi:.1f} %), more than "
                f"{100 * MAX_FALSE_PASS:g} %; take a wider margin, more items or a smaller alpha"
            )
    if found:
        raise InputError("; ".join(found))


def _noninferiority(policy: Policy) -> Iterator[tuple[str, NonInferiority]]:
    """The gates that some candidate has to pass, with their keys in the policy."""
    for name, scene in policy.scenes.items():
        if set(scene.candidates) == {policy.baseline}:
            continue
        for index, gate in enumerate(scene.gates):
            if isinstance(gate, NonInferiority):
                yield f"policy.scenes.{name}.gates.{index}", gate


def _size(key: str, gate: Gate, suite_sizes: Mapping[Suite, int]) -> int:
    n = suite_sizes.get(gate.suite, 0)
    if n < 1:
        raise InputError(f"{key}.suite: {gate.suite!r} has no items; allowed: {', '.join(suite_sizes)}")
    return n


def _gate(gate: Gate, suite_sizes: Mapping[Suite, int]) -> list[str]:
    n = _size(gate.test, gate, suite_sizes)
    match gate:
        case NonInferiority():
            return _noninferiority_lines(gate, n)
        case NewLosses():
            return _new_losses_lines(gate, n)
        case MustPass():
            return [f"must_pass on {gate.suite}: no must-pass item newly lost"]
        case BaselineFloor():
            return [
                f"baseline_floor on {gate.suite}, {gate.verdict}: at least {100 * gate.min_accuracy:g} % of {n} right"
            ]


def _attempts(gate: Gate, suite_sizes: Mapping[Suite, int], attempts: int) -> list[str]:
    """What the declared number of attempts does to the false PASS, were they independent."""
    if attempts == 1 or not isinstance(gate, NonInferiority):
        return []
    worst = false_pass(_count(gate, suite_sizes[gate.suite]), gate.margin_pp / 100, gate.alpha).rate
    return [
        f"in {attempts} attempts, as declared, at least one false PASS: {100 * chance_of_any(worst, attempts):.1f} %"
    ]


def _noninferiority_lines(gate: NonInferiority, asked: int) -> list[str]:
    n, margin = _count(gate, asked), gate.margin_pp / 100
    most = critical_losses(n, margin, gate.alpha, np.array([gains for gains in GAINS if gains <= n]))
    worst = false_pass(n, margin, gate.alpha)
    powers = [power(n, margin, gate.alpha, psi) for psi in PSIS]
    lines = [
        f"noninferiority on {gate.suite}, {gate.verdict}: {n} items, margin {gate.margin_pp:g} pp, alpha {gate.alpha:g}"
    ]
    if n != asked:
        lines.append(f"  ({asked} items divided by the declared design effect {gate.design_effect:g})")
    lines += _table(
        ("gains", [str(gains) for gains in GAINS if gains <= n]),
        ("most losses that PASS", [str(count) if count >= 0 else "-" for count in most]),
    )
    lines += _table(
        ("disagreement psi", [f"{100 * psi:g} %" for psi in PSIS]),
        _power_row(powers),
    )
    lines.append(
        f"  worst false PASS at a true loss of {gate.margin_pp:g} pp: {100 * worst.rate:.2f} % "
        f"(psi {100 * worst.psi:.1f} %)"
    )
    lines.append(f"  {_notice(power(n, margin, gate.alpha, PLANNED_PSI), margin, gate.alpha, n)}")
    return lines


def _count(gate: NonInferiority, asked: int) -> int:
    """How many independent items the asked ones count for."""
    return int(asked / gate.design_effect)


def _notice(planned: float, margin: float, alpha: float, n: int) -> str:
    asked = f"power {planned:.3f} at psi {100 * PLANNED_PSI:g} %, {TARGET_POWER:g} asked for"
    if planned >= TARGET_POWER:
        return f"decidable: {asked}"
    return f"UNDECIDABLE: {asked}; {items_needed(margin, alpha)} items would make it decidable, not {n}"


def _new_losses_lines(gate: NewLosses, n: int) -> list[str]:
    most = most_new_losses(gate, 0)
    met = [rule_met(n, rate, most) for rate in LOSS_RATES]
    lines = [
        f"new_losses on {gate.suite}: at most {most} of {n} in {', '.join(gate.families)} "
        f"when the baseline asked again has none"
    ]
    if most < gate.max_new_losses:
        lines.append(
            f"  (max_new_losses is {gate.max_new_losses}, but {most + 1} beside none is more than noise at level "
            f"{gate.noise_alpha:g})"
        )
    return lines + _table(
        ("true rate of such losses", [f"{100 * rate:g} %" for rate in LOSS_RATES]),
        ("probability rule is met", [f"{value:.3f}" for value in met]),
    )


def _joint(scene: Scene, suite_sizes: Mapping[Suite, int]) -> list[str]:
    """Power of the counting rules together: exact were every loss one of the rules' families and of both verdicts."""
    counting = [gate for gate in scene.gates if isinstance(gate, NonInferiority | NewLosses)]
    if len(counting) < 2:
        return []
    together = [1.0] * len(PSIS)
    for suite in sorted({gate.suite for gate in counting}):
        own = [gate for gate in counting if gate.suite == suite]
        n = min(
            _count(gate, suite_sizes[suite]) if isinstance(gate, NonInferiority) else suite_sizes[suite] for gate in own
        )
        most = np.min([_most_losses(gate, n) for gate in own], axis=0)
        for index, psi in enumerate(PSIS):
            together[index] *= pass_probability(n, most, psi / 2, psi / 2)
    return [
        "all counting rules together, equal candidate, were every loss one of the rules' families:",
        *_table(("disagreement psi", [f"{100 * psi:g} %" for psi in PSIS]), _power_row(together)),
    ]


def _most_losses(gate: NonInferiority | NewLosses, n: int) -> Counts:
    if isinstance(gate, NewLosses):
        return np.full(n + 1, most_new_losses(gate, 0))
    return critical_losses(n, gate.margin_pp / 100, gate.alpha, np.arange(n + 1))


def _power_row(powers: Sequence[float]) -> Row:
    return "power, equal candidate", [f"{value:.3f}" for value in powers]


def _table(*rows: Row) -> list[str]:
    """Aligned rows: a name, then its columns to the right."""
    name_width = max(len(name) for name, _ in rows)
    width = max(len(cell) for _, cells in rows for cell in cells)
    return [f"  {name:<{name_width}}  " + "  ".join(f"{cell:>{width}}" for cell in cells) for name, cells in rows]
