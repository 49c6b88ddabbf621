"""The ledger of attempts: what counts as another try, and what too many of them do."""

from __future__ import annotations

from typing import Any

import pytest

from registry.evidence import Attempt, SuiteDigest
from registry.gate.attempts import attempts_at, chance_of_any
from tests.registry.gate.evidence_builders import (
    SHA,
    SUITE,
    candidate_verdicts,
    decided,
    engine,
    tools_policy,
)

ASKED = SUITE | {"split": "release"}


def attempt(answers: str, **changes: Any) -> Attempt:
    row: dict[str, Any] = {
        "profile": "demo",
        "run": "fp8",
        "variant": "fp8",
        "weights_digest": SHA["fp8"],
        "generation_key": SHA["other"],
        "suites": {"tools": ASKED},
        "responses": {"tools": SHA[answers]},
        "judge_sha256": SHA["other"],
        "policy_sha256": SHA["other"],
    }
    return Attempt.model_validate(row | changes)


FP8 = engine("fp8").model_copy(update={"responses": {"tools": SHA["suite"]}})
OTHER_ITEMS = SuiteDigest.model_validate(ASKED | {"ids_sha256": SHA["bf16"]})


@pytest.mark.parametrize(
    ("ledger", "count"),
    [
        ([], 1),
        ([attempt("suite")], 1),
        ([attempt("suite"), attempt("suite", judge_sha256=SHA["bf16"])], 1),
        ([attempt("other")], 2),
        ([attempt("other"), attempt("bf16"), attempt("suite")], 3),
        ([attempt("suite", weights_digest=SHA["awq-int4"])], 2),
        ([attempt("other", run="awq-int4")], 1),
        ([attempt("other", suites={"tools": OTHER_ITEMS})], 1),
        ([attempt("other", suites={"qa": ASKED}, responses={"qa": SHA["other"]})], 1),
    ],
)
def test_other_answers_or_other_weights_are_another_attempt(ledger: list[Attempt], count: int) -> None:
    assert attempts_at(ledger, FP8, "tools") == count


@pytest.mark.parametrize(("declared", "outcome"), [(1, "INCONCLUSIVE"), (2, "PASS")])
def test_a_pass_beyond_the_declared_attempts_counts_for_nothing(declared: int, outcome: str) -> None:
    candidate = candidate_verdicts("tools", 180, losses=0)
    decision = decided(
        tools_policy(max_attempts=declared), candidate, engines={"fp8": FP8}, attempts=[attempt("other")]
    )
    verdict = decision.scenes[0].candidates[0]
    assert verdict.outcome == outcome
    if outcome == "INCONCLUSIVE":
        assert verdict.reason.startswith("fp8: INCONCLUSIVE, attempt 2 on tools, 1 declared (policy.max_attempts)")


def test_a_fail_stays_a_fail_however_often_it_was_tried() -> None:
    candidate = candidate_verdicts("tools", 180, losses=60)
    decision = decided(tools_policy(), candidate, engines={"fp8": FP8}, attempts=[attempt("other")])
    assert decision.scenes[0].candidates[0].outcome == "FAIL"


def test_what_trying_again_does() -> None:
    assert chance_of_any(0.05, 1) == pytest.approx(0.05)
    assert chance_of_any(0.05, 3) == pytest.approx(0.142625)
    assert chance_of_any(0.05, 5) == pytest.approx(0.2262190625)
