"""The rules beside the averages, each clause by a row."""

from __future__ import annotations

import pytest

from evalsets.records import InputError
from registry.evidence import PairedTable
from registry.gate.hard_rules import baseline_floor, most_new_losses
from registry.gate.policy import BaselineFloor, NewLosses
from tests.registry.gate.evidence_builders import candidate_verdicts, comparison, decided, only_gate, tools_policy

MUST_PASS = {"test": "must_pass", "suite": "tools"}


def rule(families: list[str], max_new_losses: int, **changes: object) -> dict[str, object]:
    test = {"test": "new_losses", "suite": "tools", "families": families, "max_new_losses": max_new_losses}
    return test | changes


NUMBERS = ["float_drift", "lost_digits", "precision_loss", "runaway_digits"]

# families, allowed, labels lost by the candidate, labels lost by baseline-again, outcome
NEW_LOSSES = [
    (["numbers"], 0, [], [], "PASS"),
    (["numbers"], 0, ["float_drift"], [], "FAIL"),
    (["numbers"], 0, ["id_drift", "key_case", "json_syntax.trailing_comma", "wrong_tool"], [], "PASS"),
    (["identifiers"], 0, ["id_drift"], [], "FAIL"),
    (["keys_and_enums"], 0, ["enum_case"], [], "FAIL"),
    (["json_syntax"], 0, ["json_syntax.trailing_comma"], [], "FAIL"),
    (["json_syntax", "identifiers"], 1, ["id_drift", "json_syntax.missing_brace"], [], "FAIL"),
    (["numbers"], 4, NUMBERS, [], "PASS"),
    (["numbers"], 3, NUMBERS, [], "FAIL"),
    # beyond the noise floor: what baseline-again loses is allowed too
    (["numbers"], 0, ["float_drift"], ["lost_digits"], "PASS"),
    (["numbers"], 0, ["float_drift", "float_drift"], ["lost_digits"], "FAIL"),
    (["numbers"], 0, ["float_drift"], ["id_drift"], "FAIL"),
    # five beside none is more than noise, whatever number is declared
    (["numbers"], 9, ["float_drift"] * 5, [], "FAIL"),
    (["numbers"], 9, ["float_drift"] * 5, ["float_drift"], "PASS"),
]


@pytest.mark.parametrize(("families", "allowed", "lost", "in_again", "expected"), NEW_LOSSES)
def test_new_losses(families: list[str], allowed: int, lost: list[str], in_again: list[str], expected: str) -> None:
    result = only_gate(
        decided(
            tools_policy(rule(families, allowed)),
            candidate_verdicts("tools", 50, len(lost), labels=lost),
            candidate_verdicts("tools", 50, len(in_again), labels=in_again),
        )
    )
    assert result.outcome == expected


def test_new_losses_names_the_items_and_the_noise() -> None:
    candidate = candidate_verdicts("tools", 50, 3, labels=["wrong_tool", "float_drift", "lost_digits"])
    again = candidate_verdicts("tools", 50, 1, labels=["float_drift"])
    result = only_gate(decided(tools_policy(rule(["numbers"], 0)), candidate, again))
    assert result.reason == (
        "fp8 on tools: FAIL, 2 new losses of numbers (tools-0001, tools-0002); "
        "at most 1 allowed where the baseline asked again has 1"
    )
    assert (result.losses, result.losses_that_pass, result.losses_that_fail) == (2, 1, 2)


def test_a_label_that_there_is_not_is_refused() -> None:
    candidate = candidate_verdicts("tools", 50, 1, labels=["float_drfit"])
    with pytest.raises(InputError, match="comparison on tools: 'float_drfit' is no label of an error"):
        decided(tools_policy(rule(["numbers"], 0)), candidate)


@pytest.mark.parametrize(
    ("declared", "in_again", "noise_alpha", "most"),
    [(0, 0, 0.05, 0), (3, 0, 0.05, 3), (9, 0, 0.05, 4), (9, 0, 0.0, 9), (0, 2, 0.05, 2), (9, 2, 0.05, 8)],
)
def test_most_new_losses(declared: int, in_again: int, noise_alpha: float, most: int) -> None:
    gate = NewLosses(
        test="new_losses", suite="tools", families=["numbers"], max_new_losses=declared, noise_alpha=noise_alpha
    )
    assert most_new_losses(gate, in_again) == most


# must-pass items, losses of the candidate and of baseline-again (always the first items), unjudged after them
MUST_PASS_ROWS = [
    (["tools-0010"], 3, 0, 0, "PASS", "not one newly lost"),
    (["tools-0002"], 3, 0, 0, "FAIL", "newly lost: tools-0002"),
    (["tools-0002"], 3, 3, 0, "INCONCLUSIVE", "lost by the baseline asked again too: tools-0002"),
    (["tools-0002", "tools-0000"], 3, 1, 0, "FAIL", "newly lost: tools-0002; lost by the baseline asked again too"),
    (["tools-0002"], 2, 0, 1, "INCONCLUSIVE", "not judged: tools-0002"),
    (["tools-0049"], 3, 0, 0, "PASS", "not one newly lost"),  # wrong before and after
]


@pytest.mark.parametrize(("marked", "lost", "in_again", "not_judged", "expected", "reason"), MUST_PASS_ROWS)
def test_must_pass(marked: list[str], lost: int, in_again: int, not_judged: int, expected: str, reason: str) -> None:
    result = only_gate(
        decided(
            tools_policy(MUST_PASS, max_unjudged_rate=0.1),
            candidate_verdicts("tools", 50, lost, not_judged=not_judged),
            candidate_verdicts("tools", 50, in_again),
            must_pass=marked,
        )
    )
    assert result.outcome == expected
    assert reason in result.reason


@pytest.mark.parametrize(
    ("floor", "expected"), [(0.0, "PASS"), (0.8, "PASS"), (0.801, "INCONCLUSIVE"), (1, "INCONCLUSIVE")]
)
def test_baseline_floor(floor: float, expected: str) -> None:
    gate = {"test": "baseline_floor", "suite": "tools", "min_accuracy": floor}
    result = only_gate(decided(tools_policy(gate), candidate_verdicts("tools", 50, 2)))
    assert result.outcome == expected
    assert "the baseline is right on 40 of 50" in result.reason


@pytest.mark.parametrize(("right", "expected"), [(9457, "PASS"), (9456, "INCONCLUSIVE")])
def test_a_share_is_compared_exactly(right: int, expected: str) -> None:
    gate = BaselineFloor(test="baseline_floor", suite="tools", min_accuracy=0.9457)
    counts = PairedTable(n=10_000, both_right=right, losses=0, gains=0, both_wrong=10_000 - right)
    suite = comparison("fp8", {"tools": candidate_verdicts("tools", 5)}).suites["tools"]
    result = baseline_floor(gate, "bf16", suite.model_copy(update={"strict": counts}))
    assert result.outcome == expected
