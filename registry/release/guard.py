"""What complaint counts say about a candidate's share of the traffic. It is kept or lowered, never raised.

The rule. An alarm is raised in the first window after which the candidate's complaint rate is shown to exceed the
baseline's by more than the margin (registry/release/excess.py), and stands from then on: the answer does not depend on
who looked when. It lowers the share to the canary step below, and to 0 where there is none below or where the excess
is shown to reach twice the margin. Without an alarm the share stays, and the reason says what would have raised one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np

from evalsets.records import InputError, Record, digest
from registry.release.canary import Canary, Guardrail, share_below, step_at
from registry.release.complaints import Count, moment
from registry.release.excess import Counts, at_least, first_alarm, log_wealth, mean_excess

MOST = 1e12  # the wealth that is shown at most
SEVERE = 2  # margins


class Totals(Record):
    """One variant over all windows: sessions and complaints, and its share (0 to 1) of the newest window's sessions."""

    variant: str
    sessions: int
    complaints: int
    newest_share: float


class Evidence(Record):
    """What the counts show. Excesses in percentage points, candidate less baseline.

    `mean_excess_pp` is an average over windows, None where none compares the two. `at_least_pp` is a lower bound that
    holds over all looks, None where not even an excess above 0 is shown. `wealth` is 1 without evidence; the alarm is
    raised once `alarm_at` has been reached, in the window `alarm_since`.
    """

    mean_excess_pp: float | None
    at_least_pp: float | None
    wealth: float
    alarm_at: float
    alarm_since: str | None


class Proposal(Record):
    """The answer: shares of sessions (0 to 1, sum 1) by variant, and why. `finding` says what was found.

    `window` is the newest one, `windows` their number. `counts_sha256` is the digest of the sorted rows of both
    variants, `release_sha256` that of the release file whose plan was used, None for the default plan.
    """

    scene: str | None
    finding: Literal["alarm", "too_few_sessions", "no_alarm"]
    shares: dict[str, float]
    shares_before: dict[str, float]
    reason: str
    window: str
    windows: int
    evidence: Evidence
    totals: tuple[Totals, Totals]
    guardrail: Guardrail
    counts_sha256: str
    release_sha256: str | None

    @property
    def lowered(self) -> bool:
        """True if the candidate gets less than before."""
        return self.shares != self.shares_before


@dataclass(frozen=True)
class Question:
    """Who is compared with whom, the candidate's present share of sessions (0 to 1), and the release it comes from."""

    baseline: str
    candidate: str
    share: float
    scene: str | None = None
    release_sha256: str | None = None


def propose(rows: Sequence[Count], question: Question, canary: Canary) -> Proposal:
    """The proposed shares, from rows as `parse_counts` returns them; rows of other variants are left out.

    Raises `InputError` where the share is not from 0 to 1, the variants are the same, or one of them was not counted.
    """
    _check(rows, question)
    windows = sorted({row.window for row in rows}, key=moment)
    sessions, complaints = _tables(rows, question)
    rail = canary.guardrail
    evidence = _evidence(sessions, complaints, windows, rail)
    totals = _totals(sessions, complaints, question)
    finding: Literal["alarm", "too_few_sessions", "no_alarm"] = "no_alarm"
    share = question.share
    step = step_at(canary, question.share)
    if evidence.alarm_since:
        finding = "alarm"
        severe = (evidence.at_least_pp or 0) >= SEVERE * rail.margin_pp
        share = 0.0 if severe else share_below(canary, question.share)
        reason = _why_lowered(evidence, question, canary, share)
    else:
        wanted = step.min_sessions if step else 0
        if min(total.sessions for total in totals) < wanted:
            finding = "too_few_sessions"
        reason = _why_kept(evidence, question, rail, _missing(sessions, complaints, rail))
        if finding == "too_few_sessions":
            reason = f"Too few sessions to step up: this step wants {wanted} of each variant. {reason}"
    return Proposal(
        scene=question.scene,
        finding=finding,
        shares=_shares(question, share),
        shares_before=_shares(question, question.share),
        reason=reason,
        window=windows[-1],
        windows=len(windows),
        evidence=evidence,
        totals=totals,
        guardrail=rail,
        counts_sha256=digest([row.model_dump(mode="json") for row in rows if row.variant in _pair(question)]),
        release_sha256=question.release_sha256,
    )
