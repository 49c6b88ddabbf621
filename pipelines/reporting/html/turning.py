"""What would have changed a scene's decision: how far each candidate's gates were from the other verdict."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.reporting.verdict_tables import count_cell
from registry.gate.decision import CandidateVerdict, GateResult, SceneDecision
from registry.gate.outcome import counted

NOTHING = "Nothing: the policy names no candidate but the baseline."


def what_would_change(scene: SceneDecision, baseline: str) -> list[str]:
    """A sentence per candidate that the choice turned on: the one chosen, and each cheaper one that did not pass.

    The counts are those with the gains and the noise as they were.
    """
    if all(verdict.candidate == baseline for verdict in scene.candidates):
        return [NOTHING]
    found = []
    for index, verdict in enumerate(scene.candidates):
        if verdict.candidate == baseline:
            break
        if verdict.candidate == scene.chosen:
            found.append(_kept(verdict, _next(scene.candidates[index + 1 :], baseline)))
            break
        found.append(_missed(verdict))
    return found


def _next(later: Sequence[CandidateVerdict], baseline: str) -> str:
    return next((verdict.candidate for verdict in later if verdict.outcome == "PASS"), baseline)


def _kept(verdict: CandidateVerdict, after: str) -> str:
    limits = [_limit(gate) for gate in verdict.gates]
    return f"{verdict.candidate} would have given way to {after} with any of these: {'; '.join(limits) or 'none'}."


def _missed(verdict: CandidateVerdict) -> str:
    needs = [_need(gate) for gate in verdict.gates if gate.outcome != "PASS"]
    if not needs:
        return f"{verdict.candidate} would have served, being cheaper, but for this: {verdict.reason}."
    return f"{verdict.candidate} would have served, being cheaper, with all of these: {'; '.join(needs)}."


def _limit(gate: GateResult) -> str:
    """What a gate that passes would not have stood."""
    seen, most, fewest = gate.losses, gate.losses_that_pass, gate.losses_that_fail
    match gate.test:
        case "noninferiority" if most is not None:
            failing = f", and from {count_cell(fewest)} on FAIL" if fewest is not None else ""
            return f"more than {counted(most, 'loss', 'losses')} on {_where(gate)} ({count_cell(seen)} seen{failing})"
        case "new_losses" if most is not None:
            return f"more than {_new_losses(most)} ({count_cell(seen)} seen)"
        case "must_pass":
            return f"one of the {count_cell(gate.n)} must-pass items of {_where(gate)} newly lost"
        case "baseline_floor":
            return f"the baseline below its floor on {_where(gate)}"
        case _:
            return f"{gate.test} on {_where(gate)} not passing"


def _need(gate: GateResult) -> str:
    """What a gate that does not pass would have taken."""
    seen, most = gate.losses, gate.losses_that_pass
    if seen is None or gate.test == "baseline_floor" or (most is not None and seen <= most):
        return f"{gate.test} otherwise than now ({gate.reason})"
    match gate.test:
        case "noninferiority" if most is None:
            return f"another suite than {_where(gate)}, where with these gains no number of losses passes"
        case "noninferiority" if most is not None:
            return f"at most {counted(most, 'loss', 'losses')} on {_where(gate)} instead of {count_cell(seen)}"
        case "new_losses" if most is not None:
            return f"at most {_new_losses(most)} instead of {count_cell(seen)}"
        case "must_pass":
            return f"no must-pass item of {_where(gate)} newly lost instead of {count_cell(seen)}"
        case _:
            return f"{gate.test} on {_where(gate)} passing"


def _new_losses(count: float) -> str:
    return f"{counted(count, 'new loss', 'new losses')} of the rule's families"


def _where(gate: GateResult) -> str:
    return f"{gate.suite or 'no suite'}{' (tolerant)' if gate.verdict == 'tolerant' else ''}"
