"""What came of one profile's evidence, and of all of them together. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from registry.gate.decision import Decision
from registry.gate.summary import MEANING

# The exit code of the whole is the first of these that a profile has.
PRECEDENCE = (2, 1, 3, 0)


@dataclass(frozen=True)
class Outcome:
    """One profile's evidence, recomputed. `code` is 0, 1, 2 or 3, `said` what the recomputation printed.

    `decision` and `report` (Markdown, made anew) are there if the evidence holds. `report_differs`: the committed
    report.md is another one.
    """

    profile: str
    code: int
    said: str
    decision: Decision | None = None
    report: str = ""
    report_differs: bool = False


def exit_code(outcomes: Sequence[Outcome], problems: Sequence[str]) -> int:
    """2 if anything could not be recomputed, else 1 if a required candidate FAILs, else 3 if one is INCONCLUSIVE."""
    codes = {outcome.code for outcome in outcomes} | ({2} if problems or not outcomes else set())
    return next((code for code in PRECEDENCE if code in codes), 2)


def forged_reports(outcomes: Sequence[Outcome], changed: Sequence[str]) -> list[str]:
    """A line per committed report.md that the base branch's code does not make, unless trusted files changed too.

    With such changes the difference may be theirs: a person looks, and the decision itself is recomputed anyhow.
    """
    if changed:
        return []
    return [
        f"evidence/{outcome.profile}/report.md: not the report of this evidence; commit the one that a run writes"
        for outcome in outcomes
        if outcome.report_differs
    ]


def meaning(code: int) -> str:
    """An exit code in words."""
    return MEANING[code if code in MEANING else 2]
