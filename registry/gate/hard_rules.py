"""Rules beside the averages: new losses of the headline families, must-pass items, the baseline's own floor."""

from __future__ import annotations

from fractions import Fraction

from evalsets.records import InputError
from judges.taxonomy import family
from registry.evidence import NewLoss, SuiteComparison
from registry.gate.decision import GateResult, Outcome
from registry.gate.mcnemar import more_p
from registry.gate.outcome import counted, printed, table_of
from registry.gate.policy import BaselineFloor, MustPass, NewLosses


def most_new_losses(gate: NewLosses, in_again: int) -> int:
    """The largest count of new losses that meets the rule when baseline-again has `in_again` of them."""
    most = gate.max_new_losses + in_again
    while most > 0 and more_p(most, in_again) <= gate.noise_alpha:
        most -= 1
    return most


def new_losses(gate: NewLosses, candidate: str, comparison: SuiteComparison, again: SuiteComparison) -> GateResult:
    """FAIL when the candidate has more new strict losses of the families than the rule allows beyond the noise."""
    lost = _of_families(gate, comparison)
    in_again = len(_of_families(gate, again))
    allowed = most_new_losses(gate, in_again)
    verdict: Outcome = "PASS" if len(lost) <= allowed else "FAIL"
    named = f" ({', '.join(loss.item_id for loss in lost)})" if lost else ""
    return GateResult(
        test=gate.test,
        suite=gate.suite,
        verdict="strict",
        outcome=verdict,
        reason=(
            f"{candidate} on {gate.suite}: {verdict}, {counted(len(lost), 'new loss', 'new losses')} of "
            f"{', '.join(gate.families)}{named}; at most {allowed} allowed where the baseline asked again has "
            f"{in_again}"
        ),
        n=comparison.strict.n,
        losses=len(lost),
        losses_that_pass=allowed,
        losses_that_fail=allowed + 1,
    )


def must_pass(gate: MustPass, candidate: str, comparison: SuiteComparison, again: SuiteComparison) -> GateResult:
    """FAIL for a must-pass item newly lost; INCONCLUSIVE if it was not judged or the baseline asked again loses it."""
    in_again = {loss.item_id for loss in again.new_losses}
    lost = [loss.item_id for loss in comparison.new_losses if loss.must_pass]
    new = [item_id for item_id in lost if item_id not in in_again]
    unsettled = [item_id for item_id in lost if item_id in in_again]
    unjudged = [item_id for item_id in comparison.must_pass if item_id in comparison.unjudged]
    verdict: Outcome = "FAIL" if new else "INCONCLUSIVE" if unsettled or unjudged else "PASS"
    parts = [f"newly lost: {', '.join(new)}"] if new else []
    parts += [f"lost by the baseline asked again too: {', '.join(unsettled)}"] if unsettled else []
    parts += [f"not judged: {', '.join(unjudged)}"] if unjudged else []
    return GateResult(
        test=gate.test,
        suite=gate.suite,
        verdict="strict",
        outcome=verdict,
        reason=f"{candidate} on {gate.suite}: {verdict}, must-pass items {'; '.join(parts) or 'not one newly lost'}",
        n=len(comparison.must_pass),
        losses=len(new),
        losses_that_pass=0,
        losses_that_fail=1,
    )


def baseline_floor(gate: BaselineFloor, baseline: str, comparison: SuiteComparison) -> GateResult:
    """PASS when the baseline itself is right often enough, else INCONCLUSIVE: a broken baseline shows nothing."""
    table = table_of(comparison, gate.verdict)
    # Shares of up to nine runs, and the rate as the policy spells it: 0.95 is 95/100, not its nearest binary fraction.
    right = Fraction(table.both_right + table.losses).limit_denominator(2520)
    enough = table.n > 0 and right / Fraction(table.n) >= Fraction(str(gate.min_accuracy))
    verdict: Outcome = "PASS" if enough else "INCONCLUSIVE"
    return GateResult(
        test=gate.test,
        suite=gate.suite,
        verdict=gate.verdict,
        outcome=verdict,
        reason=(
            f"{baseline} on {gate.suite}: {verdict}, the baseline is right on {printed(float(right))} of {table.n}, "
            f"the floor is {gate.min_accuracy:g} of them"
        ),
        n=table.n,
    )


def _of_families(gate: NewLosses, comparison: SuiteComparison) -> list[NewLoss]:
    """The new losses that count. Raises `InputError` for a label the taxonomy does not have."""
    try:
        return [loss for loss in comparison.new_losses if family(loss.label) in gate.families]
    except KeyError as unknown:
        raise InputError(f"comparison on {comparison.suite}: {unknown} is no label of an error; judge again") from None
