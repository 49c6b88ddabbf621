"""The verdict of one paired table at one margin, and the wording that all gates share."""

from __future__ import annotations

from typing import Literal

from registry.evidence import PairedTable, SuiteComparison
from registry.gate.clusters import deflated
from registry.gate.decision import Outcome
from registry.gate.policy import NonInferiority
from registry.gate.tango import exceeds


def outcome(table: PairedTable, gate: NonInferiority) -> Outcome:
    """PASS iff the lower bound of (candidate - baseline) is above -margin, FAIL iff the upper one is below it.

    The score test itself is evaluated at the margin, so no root's rounding decides. Raises ValueError for n of 0.
    """
    margin = gate.margin_pp / 100
    if exceeds(table.losses, table.gains, table.n, -margin, gate.alpha):
        return "PASS"
    if exceeds(table.gains, table.losses, table.n, margin, gate.alpha):
        return "FAIL"
    return "INCONCLUSIVE"


def table_of(comparison: SuiteComparison, verdict: Literal["strict", "tolerant"]) -> PairedTable:
    """The suite's paired table under that verdict."""
    return comparison.strict if verdict == "strict" else comparison.tolerant


def effective(table: PairedTable, gate: NonInferiority) -> PairedTable:
    """The table as it counts for the gate: divided by the declared design effect (Rao and Scott 1992)."""
    if gate.design_effect == 1:
        return table
    losses, gains, n = deflated(table.losses, table.gains, table.n, gate.design_effect)
    both_right, both_wrong, _ = deflated(table.both_right, table.both_wrong, table.n, gate.design_effect)
    return PairedTable(n=n, both_right=both_right, losses=losses, gains=gains, both_wrong=both_wrong)


def counted(count: float, singular: str, plural: str) -> str:
    """`1 loss`, `5 losses`, `2.67 losses`."""
    return f"{printed(count)} {singular if count == 1 else plural}"


def printed(count: float) -> str:
    """A count with at most two decimals."""
    return f"{count:.2f}".rstrip("0").rstrip(".")


def against(bound_pp: float, margin_pp: float) -> str:
    """`-4.6 pp against 4.0`: one decimal, and more where the margin needs them or the two would print alike."""
    digits = 1
    while digits < 6 and (
        round(margin_pp, digits) != margin_pp
        or (bound_pp != -margin_pp and f"{bound_pp:.{digits}f}" == f"{-margin_pp:.{digits}f}")
    ):
        digits += 1
    return f"{bound_pp:.{digits}f} pp against {margin_pp:.{digits}f}"
