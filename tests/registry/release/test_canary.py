"""The canary plan and the assignment of sessions: validation, stickiness, proportions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalsets.records import InputError
from registry.release.canary import Canary, bucket, share_below, step_at, variant_of

SESSIONS = st.text(min_size=1)
SALTS = st.text(st.characters(exclude_characters="\0"), max_size=20)
SHARES = st.floats(0, 1)


def steps(*shares: float) -> dict[str, Any]:
    return {"steps": [{"share": share, "dwell_hours": 24} for share in shares]}


def test_the_default_plan_is_the_declared_one() -> None:
    plan = Canary()
    assert [step.share for step in plan.steps] == [0.05, 0.1, 0.25, 0.5, 1.0]
    assert (plan.kv_headroom, plan.guardrail.margin_pp, plan.guardrail.alpha) == (0.2, 0.5, 0.05)
    assert Canary.model_validate(plan.model_dump(mode="json")) == plan


def test_the_guide_shows_the_default_plan() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guard.md").read_text()
    for step in Canary().steps:
        row = f"| {100 * step.share:g} % | {step.dwell_hours:g} h"
        assert [line for line in guide.splitlines() if line.startswith(row) and line.endswith(f"{step.min_sessions} |")]


@pytest.mark.parametrize("shares", [(0.05, 1.0), (0.01, 0.02, 1.0), (0.05, 0.1, 0.25, 0.5, 1.0)])
def test_plans_that_hold(shares: tuple[float, ...]) -> None:
    assert tuple(step.share for step in Canary.model_validate(steps(*shares)).steps) == shares


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (steps(0.05, 0.5, 0.25, 1.0), "must rise"),
        (steps(0.05, 0.05, 1.0), "must rise"),
        (steps(0.1, 1.0), "steps.0.share: 0.1 is above 0.05"),
        (steps(0.05, 0.5), "steps.1.share: 0.5 is not 1"),
        (steps(0.0, 1.0), "greater than 0"),
        (steps(0.05, 1.5), "less than or equal to 1"),
        (steps(0.05, float("nan"), 1.0), "share"),
        (steps(0.05), "at least 2 items"),
        ({"steps": [{"share": 0.05, "dwell_hours": 0}, {"share": 1.0, "dwell_hours": 1}]}, "dwell_hours"),
        ({"steps": [{"share": 0.05, "dwell_hours": 1, "min_sessions": 0}, {"share": 1, "dwell_hours": 1}]}, "min_s"),
        ({"kv_headroom": 1.0}, "kv_headroom"),
        ({"salt": "a\0b"}, "zero byte"),
        ({"salt": ""}, "salt"),
        ({"warm_up": ""}, "warm_up"),
        ({"guardrail": {"margin_pp": 0}}, "margin_pp"),
        ({"guardrail": {"margin_pp": 50}}, "margin_pp"),
        ({"guardrail": {"alpha": 0.5}}, "alpha"),
        ({"headroom": 0.2}, "unknown key headroom"),
    ],
)
def test_plans_that_are_refused(plan: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Canary.model_validate(plan)


@pytest.mark.parametrize(
    ("share", "below", "at"),
    [
        (1.0, 0.5, 1.0),
        (0.5, 0.25, 0.5),
        (0.3, 0.25, 0.25),
        (0.1, 0.05, 0.1),
        (0.05, 0.0, 0.05),
        (0.02, 0.0, None),
        (0.0, 0.0, None),
    ],
)
def test_the_step_of_a_share_and_the_one_below(share: float, below: float, at: float | None) -> None:
    assert share_below(Canary(), share) == below
    step = step_at(Canary(), share)
    assert (step.share if step else None) == at


@pytest.mark.parametrize(
    ("session", "salt", "sha256_begins"),
    # printf '%s\0%s' SALT SESSION | sha256sum
    [("session-1", "canary", "687af9b22840870c"), ("会话-7", "qa-2026-03", "5e0f6dc61fe08185")],
)
def test_buckets_are_those_any_router_computes(session: str, salt: str, sha256_begins: str) -> None:
    assert bucket(session, salt) == (int(sha256_begins, 16) >> 11) / 2**53


@given(SESSIONS, SALTS)
def test_a_bucket_is_in_range_and_sticky(session: str, salt: str) -> None:
    assert 0 <= bucket(session, salt) < 1
    assert bucket(session, salt) == bucket(session, salt)
    assert variant_of(session, 1.0, salt) == "candidate"
    assert variant_of(session, 0.0, salt) == "baseline"


@given(SESSIONS, SALTS, SHARES, SHARES)
def test_a_larger_share_never_moves_a_session_back(session: str, salt: str, one: float, other: float) -> None:
    lower, higher = sorted((one, other))
    if variant_of(session, lower, salt) == "candidate":
        assert variant_of(session, higher, salt) == "candidate"


@pytest.mark.parametrize("salt", ["canary", "qa-2026-03"])
@pytest.mark.parametrize("share", [0.05, 0.25, 0.5])
def test_the_candidate_gets_its_share(share: float, salt: str) -> None:
    count = 20_000
    served = sum(variant_of(f"session-{number}", share, salt) == "candidate" for number in range(count))
    assert abs(served / count - share) < 4 * (share * (1 - share) / count) ** 0.5


def test_another_salt_picks_other_sessions() -> None:
    sessions = [f"session-{number}" for number in range(20_000)]
    first, second = ({each for each in sessions if variant_of(each, 0.25, salt) == "candidate"} for salt in "ab")
    # independent picks: a quarter of the first quarter is in both
    assert len(first & second) / len(first) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        variant_of("session-1", share, "canary")


def test_what_cannot_be_assigned_is_refused() -> None:
    with pytest.raises(InputError, match="without an id"):
        bucket("", "canary")
    with pytest.raises(InputError, match="zero byte"):
        bucket("session-1", "a\0b")
