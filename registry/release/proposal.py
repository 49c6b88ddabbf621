"""What the guard answers: shares of sessions, the reason, and the evidence it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evalsets.records import Record
from registry.release.canary import Guardrail

Finding = Literal["alarm", "too_few_sessions", "no_alarm"]


@dataclass(frozen=True)
class Question:
    """Who is compared with whom, the candidate's present share of sessions (0 to 1), and the release it comes from."""

    baseline: str
    candidate: str
    share: float
    scene: str | None = None
    release_sha256: str | None = None


class Totals(Record):
    """One variant over all windows: sessions, and those with a complaint; then the newest window alone."""

    variant: str
    sessions: int
    complaints: int
    newest_sessions: int
    newest_complaints: int


class Evidence(Record):
    """What the counts show. Excesses in percentage points, candidate less baseline.

    `mean_excess_pp` is an average over windows, None where none has sessions of both. `at_least_pp` is a lower bound
    that holds over all looks together, None where not even an excess above 0 is shown. `wealth` starts at 1; an alarm
    is raised once it reaches `alarm_at`, in the window `alarm_since`, and stands from then on.
    """

    mean_excess_pp: float | None
    at_least_pp: float | None
    wealth: float
    highest_wealth: float
    alarm_at: float
    alarm_since: str | None


class Proposal(Record):
    """The answer. `shares` of sessions (0 to 1, sum 1) by variant, `shares_before` as they were, and why.

    `window` is the newest, `windows` their number. `alarming_complaints`: as many of the candidate in the newest window
    would have raised an alarm; None after an alarm, or where no number would. `counts_sha256` is the digest of the
    sorted rows of both variants, `release_sha256` of the release file the plan is from (None: the default plan).
    """

    scene: str | None
    finding: Finding
    shares: dict[str, float]
    shares_before: dict[str, float]
    reason: str
    window: str
    windows: int
    evidence: Evidence
    alarming_complaints: int | None
    baseline: Totals
    candidate: Totals
    guardrail: Guardrail
    counts_sha256: str
    release_sha256: str | None

    @property
    def lowered(self) -> bool:
        """True if the candidate gets less than before."""
        return self.shares != self.shares_before
