"""The guard's rule: a share is kept or lowered, never raised, and the reason says why."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsets.records import InputError
from registry.release.canary import Canary
from registry.release.complaints import Count
from registry.release.guard import propose
from registry.release.guard_reason import summary
from registry.release.proposal import Proposal, Question
from tests.registry.release.count_builders import Day, rows_of, some_days

ALARM: Day = (3750, 37, 1250, 34)
SEVERE: Day = (3750, 37, 1250, 80)
FINE: Day = (3750, 37, 1250, 12)


def ask(days: Sequence[Day], share: float = 0.25, canary: Canary | None = None) -> Proposal:
    return propose(rows_of(days), Question(baseline="bf16", candidate="awq-int4", share=share), canary or Canary())


@pytest.mark.parametrize(
    ("days", "share", "finding", "after"),
    [
        ([FINE] * 3, 0.25, "no_alarm", 0.25),
        ([FINE] * 2, 0.25, "too_few_sessions", 0.25),
        ([FINE], 0.0, "no_alarm", 0.0),
        ([ALARM] * 4, 0.25, "alarm", 0.1),
        ([ALARM] * 4, 0.3, "alarm", 0.25),
        ([ALARM] * 4, 1.0, "alarm", 0.5),
        ([ALARM] * 4, 0.05, "alarm", 0.0),
        ([ALARM] * 4, 0.02, "alarm", 0.0),
        ([ALARM] * 4, 0.0, "alarm", 0.0),
        ([SEVERE], 0.5, "alarm", 0.0),
        ([ALARM] * 4 + [FINE] * 60, 0.25, "alarm", 0.1),
    ],
)
def test_the_rule(days: list[Day], share: float, finding: str, after: float) -> None:
    proposal = ask(days, share)
    assert proposal.finding == finding
    assert proposal.shares == {"bf16": pytest.approx(1 - after), "awq-int4": after}
    assert proposal.lowered == (after < share)


@given(some_days(), st.floats(0, 1))
@settings(deadline=None, max_examples=40)
def test_a_share_is_never_raised_and_the_baseline_takes_the_rest(days: list[Day], share: float) -> None:
    proposal = ask(days, share)
    assert 0 <= proposal.shares["awq-int4"] <= share
    assert sum(proposal.shares.values()) == pytest.approx(1)
    assert proposal.lowered <= (proposal.finding == "alarm")
    assert (proposal.finding == "alarm") == (proposal.evidence.alarm_since is not None)
    assert summary(proposal).endswith(proposal.reason)


@given(some_days())
@settings(deadline=None, max_examples=25)
def test_the_number_that_would_alarm_is_the_least(days: list[Day]) -> None:
    number = ask(days).alarming_complaints
    if number is None:
        return
    *before, (base_sessions, base_complaints, sessions, complaints) = days
    assert complaints < number <= sessions
    assert ask([*before, (base_sessions, base_complaints, sessions, number)]).finding == "alarm"
    assert ask([*before, (base_sessions, base_complaints, sessions, number - 1)]).finding != "alarm"


@pytest.mark.parametrize(
    ("days", "share", "says"),
    [
        ([FINE] * 3, 0.25, ["awq-int4 stays at 25 %", "complaints on its 1250 sessions of 2026-01-03", "12 were"]),
        ([FINE] * 2, 0.25, ["Too few sessions to step up from 25 %: 2500 of awq-int4, the step wants 3000 of each"]),
        ([FINE, (3750, 37, 0, 0)], 0.25, ["no sessions in the newest window, 2026-01-02"]),
        ([(500, 5, 2, 0)], 0.25, ["Even a complaint on each of its 2 sessions"]),
        ([ALARM] * 4, 0.25, ["Alarm since 2026-01-02", "from 25 % to 10 %: the step below", "0.5 pp are allowed"]),
        ([ALARM] * 4, 0.05, ["from 5 % to 0 %: there is no step below"]),
        ([SEVERE], 0.5, ["from 50 % to 0 %: the excess is shown to be twice the margin (1 pp) or more"]),
        ([ALARM] * 4, 0.0, ["awq-int4 has no sessions to lose"]),
        ([(0, 0, 10, 1)], 0.25, ["no window has sessions of both"]),
    ],
)
def test_the_reason_says_what_was_found_and_what_would_alarm(days: list[Day], share: float, says: list[str]) -> None:
    reason = ask(days, share).reason
    assert not [part for part in says if part not in reason], reason


def test_the_margin_and_alpha_are_the_plans() -> None:
    days = [ALARM] * 4
    wide = Canary.model_validate({"guardrail": {"margin_pp": 2.0}})
    strict = Canary.model_validate({"guardrail": {"alpha": 0.0001}})
    assert ask(days, canary=wide).finding == "no_alarm"
    assert ask(days[:2]).finding == "alarm"
    assert ask(days[:2], canary=strict).finding != "alarm"


def test_rows_of_other_variants_change_nothing() -> None:
    question = Question(baseline="bf16", candidate="awq-int4", share=0.25)
    rows = rows_of([ALARM] * 4)
    other = Count(window=rows[-1].window, variant="fp8", sessions=1000, complaints=900)
    assert propose([*rows, other], question, Canary()) == propose(rows, question, Canary())


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question("bf16", "int4", 0.25), "no counts of int4; the variants counted are awq-int4, bf16"),
        (Question("bf16", "bf16", 0.25), "cannot be compared with itself"),
        (Question("bf16", "awq-int4", 1.5), "not from 0 to 1"),
        (Question("bf16", "awq-int4", float("nan")), "not from 0 to 1"),
    ],
)
def test_a_question_without_an_answer_is_refused(question: Question, message: str) -> None:
    with pytest.raises(InputError, match=message):
        propose(rows_of([FINE]), question, Canary())
