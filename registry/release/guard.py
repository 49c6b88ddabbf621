"""What complaint counts say about a candidate's share of the traffic: keep it or lower it, never raise it.

An alarm is raised in the first window after which the candidate's complaint rate is shown to exceed the baseline's by
more than the margin (`registry.release.excess`). It stands from then on, so that the answer does not depend on who
looked when. It lowers the share to the canary step below; to 0 where there is none, or where the excess is shown to
be twice the margin or more. Without an alarm the share stays, and the reason says what would have raised one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evalsets.records import InputError, digest
from registry.release.canary import Canary, Guardrail, share_below, step_at
from registry.release.complaints import Count, moment
from registry.release.excess import Counts, at_least, first_alarm, log_wealth, mean_excess
from registry.release.guard_reason import why
from registry.release.proposal import Evidence, Finding, Proposal, Question, Totals

MOST = 1e12  # the wealth that is written at most


def propose(rows: Sequence[Count], question: Question, canary: Canary) -> Proposal:
    """The proposed shares, from rows as `parse_counts` returns them; rows of other variants are left out.

    Raises `InputError` where the share is not from 0 to 1, both variants are the same, or one of them has no row.
    """
    _check(rows, question)
    windows = list({moment(row.window): row.window for row in rows}.values())
    sessions, complaints = _tables(rows, question)
    evidence = _evidence(sessions, complaints, windows, canary.guardrail)
    baseline = _totals(question.baseline, sessions[:, 0], complaints[:, 0])
    candidate = _totals(question.candidate, sessions[:, 1], complaints[:, 1])
    alarm = evidence.alarm_since is not None
    pair = (question.baseline, question.candidate)
    draft = Proposal(
        scene=question.scene,
        finding=_finding(alarm, min(baseline.sessions, candidate.sessions), question.share, canary),
        shares=_shares(question, _lower(evidence, question.share, canary) if alarm else question.share),
        shares_before=_shares(question, question.share),
        reason="",
        window=windows[-1],
        windows=len(windows),
        evidence=evidence,
        alarming_complaints=None if alarm else _alarming(sessions, complaints, canary.guardrail),
        baseline=baseline,
        candidate=candidate,
        guardrail=canary.guardrail,
        counts_sha256=digest([row.model_dump(mode="json") for row in rows if row.variant in pair]),
        release_sha256=question.release_sha256,
    )
    return draft.model_copy(update={"reason": why(draft, step_at(canary, question.share))})


def _check(rows: Sequence[Count], question: Question) -> None:
    if not 0 <= question.share <= 1:
        raise InputError(f"share {question.share!r} is not from 0 to 1; give the candidate's share of sessions")
    if question.baseline == question.candidate:
        raise InputError(f"{question.baseline} cannot be compared with itself; name another candidate")
    counted = {row.variant for row in rows}
    for variant in (question.baseline, question.candidate):
        if variant not in counted:
            raise InputError(f"no counts of {variant}; the variants counted are {', '.join(sorted(counted))}")


def _tables(rows: Sequence[Count], question: Question) -> tuple[Counts, Counts]:
    # both (windows, 2), the baseline first; a variant without a row in a window had no sessions in it
    index = {start: position for position, start in enumerate(dict.fromkeys(moment(row.window) for row in rows))}
    sessions, complaints = np.zeros((2, len(index), 2), dtype=np.int64)
    for row in rows:
        for column, variant in enumerate((question.baseline, question.candidate)):
            if row.variant == variant:
                sessions[index[moment(row.window)], column] = row.sessions
                complaints[index[moment(row.window)], column] = row.complaints
    return sessions, complaints


def _evidence(sessions: Counts, complaints: Counts, windows: Sequence[str], rail: Guardrail) -> Evidence:
    margin = rail.margin_pp / 100
    wealth = log_wealth(sessions, complaints, margin)
    since = first_alarm(wealth, rail.alpha)
    mean = mean_excess(sessions, complaints)
    bound = at_least(sessions, complaints, margin, rail.alpha)
    return Evidence(
        mean_excess_pp=None if mean is None else round(100 * mean, 4),
        at_least_pp=None if bound is None else round(100 * bound, 9),
        wealth=_rounded(wealth[-1]),
        highest_wealth=_rounded(wealth.max()),
        alarm_at=1 / rail.alpha,
        alarm_since=None if since is None else windows[since],
    )


def _rounded(log_value: float) -> float:
    return float(f"{math.exp(min(log_value, math.log(MOST))):.4g}")


def _totals(variant: str, sessions: Counts, complaints: Counts) -> Totals:
    return Totals(
        variant=variant,
        sessions=int(sessions.sum()),
        complaints=int(complaints.sum()),
        newest_sessions=int(sessions[-1]),
        newest_complaints=int(complaints[-1]),
    )


def _finding(alarm: bool, fewest_sessions: int, share: float, canary: Canary) -> Finding:
    if alarm:
        return "alarm"
    step = step_at(canary, share)
    return "too_few_sessions" if step is not None and fewest_sessions < step.min_sessions else "no_alarm"


def _lower(evidence: Evidence, share: float, canary: Canary) -> float:
    severe = evidence.at_least_pp is not None and evidence.at_least_pp >= canary.guardrail.severe_pp
    return 0.0 if severe else share_below(canary, share)


def _shares(question: Question, share: float) -> dict[str, float]:
    return {question.baseline: round(1 - share, 12), question.candidate: share}


def _alarming(sessions: Counts, complaints: Counts, rail: Guardrail) -> int | None:
    """The least number of the candidate's complaints in the newest window that would have raised an alarm, if any.

    Found by bisection, since the wealth rises with it.
    """
    below, enough = int(complaints[-1, 1]), int(sessions[-1, 1])

    def alarms(number: int) -> bool:
        supposed = complaints.copy()
        supposed[-1, 1] = number
        return first_alarm(log_wealth(sessions, supposed, rail.margin_pp / 100), rail.alpha) is not None

    if not alarms(enough):
        return None
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if alarms(middle) else (middle, enough)
    return enough
