"""The non-inferiority gate: a paired table against its margin, with the noise floor and the alarms in the reason."""

from __future__ import annotations

from registry.evidence import PairedTable, SuiteComparison
from registry.gate.compare import count_as_losses
from registry.gate.decision import GateResult, Outcome
from registry.gate.distance import fewest_that_fail, most_that_pass
from registry.gate.mcnemar import mid_p
from registry.gate.noise import blamed_on_noise
from registry.gate.outcome import against, counted, effective, outcome, printed, table_of
from registry.gate.policy import NonInferiority
from registry.gate.tango import bounds, items_to_decide

HARM_P = 0.05
IMPLAUSIBLE_P = 0.01
MUCH_LONGER = 0.1  # growth of the completion tokens, beside the sign test, from which the alarm speaks


def noninferiority(
    gate: NonInferiority, candidate: str, comparison: SuiteComparison, again: SuiteComparison
) -> GateResult:
    """The gate's outcome for a candidate, with its numbers and one sentence that explains it.

    Raises ValueError when no pair of the suite was judged.
    """
    table, repeated = (effective(table_of(suite, gate.verdict), gate) for suite in (comparison, again))
    margin = gate.margin_pp / 100
    own = outcome(table, gate)
    noise = blamed_on_noise(own, table, repeated, gate)
    final: Outcome = own if noise is None else "INCONCLUSIVE"
    lower, upper = bounds(table.losses, table.gains, table.n, gate.alpha)
    most, fewest = most_that_pass(table, margin, gate.alpha), fewest_that_fail(table, margin, gate.alpha)
    bound = (
        f"upper bound {against(100 * upper, gate.margin_pp)}"
        if own == "FAIL"
        else (f"lower bound {against(100 * lower, gate.margin_pp)}")
    )
    reason = [f"{_headline(candidate, gate, table, final)}, {bound}"]
    reason += [noise] if noise else []
    reason += [_distance(own, most, fewest)]
    reason += _what_would_decide(table, gate) if own == final == "INCONCLUSIVE" else []
    reason += _made_of(comparison, gate) + _alarms(table, comparison) + _sensitivity(table, comparison, gate)
    return GateResult(
        test=gate.test,
        suite=gate.suite,
        verdict=gate.verdict,
        outcome=final,
        reason="; ".join(reason),
        n=table.n,
        losses=table.losses,
        gains=table.gains,
        drop_pp=100 * (table.losses - table.gains) / table.n,
        lower_pp=100 * lower,
        upper_pp=100 * upper,
        margin_pp=gate.margin_pp,
        losses_that_pass=most,
        losses_that_fail=fewest,
    )


def _headline(candidate: str, gate: NonInferiority, table: PairedTable, final: Outcome) -> str:
    where = f"{candidate} on {gate.suite}" + (" (tolerant)" if gate.verdict == "tolerant" else "")
    counts = f"{_losses(table.losses)}, {counted(table.gains, 'gain', 'gains')} of {printed(table.n)}"
    return f"{where}: {final}, {counts}"


def _distance(own: Outcome, most: float | None, fewest: float | None) -> str:
    passing = "no number of losses" if most is None else ("up to " if own == "PASS" else "") + _losses(most)
    failing = f", {printed(fewest)} would have failed" if own == "INCONCLUSIVE" and fewest is not None else ""
    return f"{passing} would have passed{failing}"


def _losses(count: float) -> str:
    return counted(count, "loss", "losses")


def _what_would_decide(table: PairedTable, gate: NonInferiority) -> list[str]:
    margin = gate.margin_pp / 100
    items = items_to_decide(table.losses, table.gains, table.n, margin, gate.alpha)
    if items is None:
        return ["the drop is exactly the margin, which no number of items decides"]
    verdict = "PASS" if (table.losses - table.gains) / table.n < margin else "FAIL"
    return [f"at these rates {items} items would give {verdict}"]


def _made_of(comparison: SuiteComparison, gate: NonInferiority) -> list[str]:
    """How the counts came about where they are not plain ones, and clusters that count for more than was declared."""
    found = [f"each item asked {comparison.runs} times"] if comparison.runs > 1 else []
    if gate.design_effect > 1:
        found.append(f"counts divided by the declared design effect {gate.design_effect:g}")
    if comparison.design_effect > gate.design_effect:
        found.append(f"measured design effect of the clusters {comparison.design_effect:.2f}")
    return found


def _alarms(table: PairedTable, comparison: SuiteComparison) -> list[str]:
    """Remarks that decide nothing: harm by mid-p McNemar, gains too good to be true, longer completions."""
    found = []
    p = mid_p(table.losses, table.gains)
    if table.losses > table.gains and p <= HARM_P:
        found.append(f"harm alarm: mid-p McNemar {p:.2g}")
    if table.gains > table.losses and p <= IMPLAUSIBLE_P:
        found.append(f"implausible gains (mid-p McNemar {p:.2g}): check that both runs were served alike")
    longer = mid_p(comparison.longer, comparison.shorter)
    if comparison.longer > comparison.shorter and longer <= HARM_P and _growth(comparison) > MUCH_LONGER:
        found.append(
            f"completions are {100 * _growth(comparison):.0f} % longer (on {comparison.longer} items, shorter on "
            f"{comparison.shorter}; mid-p sign test {longer:.2g})"
        )
    return found


def _growth(comparison: SuiteComparison) -> float:
    before = comparison.baseline_tokens
    return comparison.candidate_tokens / before - 1 if before else 0.0


def _sensitivity(table: PairedTable, comparison: SuiteComparison, gate: NonInferiority) -> list[str]:
    if not comparison.unjudged:
        return []
    worst = effective(count_as_losses(table_of(comparison, gate.verdict), len(comparison.unjudged)), gate)
    lower, _ = bounds(worst.losses, worst.gains, worst.n, gate.alpha)
    return [
        f"with {len(comparison.unjudged)} unjudged counted as lost: {outcome(worst, gate)}, "
        f"lower bound {against(100 * lower, gate.margin_pp)}"
    ]
