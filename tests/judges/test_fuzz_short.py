"""A short run of the fuzzer: thousands of changed outputs, and every hostile construction once."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judges.cases import judge_case
from judges.json_reader import MAX_DEPTH, decode
from judges.schema import Place
from judges.values import equal, frozen
from judges.verdicts import Error, Verdict
from tests.judges.fuzz import fuzz, wrong_with
from tests.judges.fuzz_inputs import (
    FORMS,
    MUTATORS,
    Input,
    entries_input,
    example_input,
    example_row,
    make_input,
    seeds,
)
from tests.judges.hostile import HOSTILE, hostile_entries

CORPUS = seeds()
SECONDS = 2  # of CPU for 16,000 characters; what is quadratic takes more


def test_changed_outputs_are_judged() -> None:
    outcome = fuzz(make_input(number, 20260501, CORPUS, 0.0) for number in range(2500))
    assert outcome.failures == []
    assert outcome.twice == 125
    assert 0 < outcome.strict < outcome.tolerant < outcome.count / 10


@pytest.mark.parametrize("index", range(len(HOSTILE)), ids=list(HOSTILE))
def test_hostile_texts_are_judged_in_time(index: int) -> None:
    name = list(HOSTILE)[index]
    given = example_input(name, HOSTILE[name](16_000), FORMS[index % len(FORMS)], "stop", index % 2 == 0)
    started = time.process_time()
    assert fuzz([given]).failures == []
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("name", hostile_entries(1))
def test_hostile_calls_are_judged(name: str) -> None:
    given = entries_input(name, hostile_entries(20_000)[name], "stop", True)
    assert fuzz([given]).failures == []
    assert not given.judge().tolerant_ok


def test_a_megabyte_is_garbage_at_once() -> None:
    for name in ("quotes", "nested arrays", "lone surrogates"):
        verdict = example_input(name, HOSTILE[name](1 << 20), "hermes", "stop", True).judge()
        assert verdict.primary == "garbage"


def test_an_exception_and_a_wrong_verdict_are_failures() -> None:
    def broken() -> Verdict:
        raise RuntimeError("no verdict")

    shaky = iter(Verdict(item_id="a", suite="tools", status="judged", primary=kind, errors=[]) for kind in "ab")
    outcome = fuzz([Input("a broken judge", "", broken), Input("a shaky one", "", lambda: next(shaky))])
    assert len(outcome.failures) == 2
    assert "no verdict" in outcome.failures[0]


IMPOSSIBLE: list[dict[str, Any]] = [
    {"strict_ok": True, "tolerant_ok": False},
    {"strict_ok": True, "tolerant_ok": True, "primary": "garbage"},
    {"errors": [Error(kind="list")], "primary": "garbage"},
    {"errors": [Error(kind="list", span=(0, 9))], "primary": "list"},
]


@pytest.mark.parametrize("fields", IMPOSSIBLE)
def test_impossible_verdicts_are_named(fields: dict[str, Any]) -> None:
    assert wrong_with(Verdict(item_id="a", suite="tools", status="judged", **fields), "text") is not None


def test_an_input_is_the_same_each_time() -> None:
    first, second = (make_input(7, 3, CORPUS, 0.5) for _ in range(2))
    assert (first.about, first.raw, first.judge()) == (second.about, second.raw, second.judge())


@pytest.mark.parametrize("mutator", MUTATORS)
def test_mutators_take_any_text(mutator: Any) -> None:
    rng = random.Random(1)
    assert all(isinstance(mutator(text, rng), str) for text in ("", "a", "\ud800", "退款") for _ in range(50))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.decimals(-2, 2, places=1)
    | st.sampled_from(["", "é", "e\u0301"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=5,
)


@given(VALUES, VALUES)
@example([1], [True])
@example(["é"], ["e\u0301"])
def test_frozen_values_are_the_equal_ones(first: Any, second: Any) -> None:
    assert (frozen(first) == frozen(second)) == equal(first, second, Place({}, {}))


PIECES = [
    '"ab"',
    '"ab',
    "[1, 2.5e-3]",
    '{"a": 1, "a": 2}',
    '{"k": "\\ud83d\\ude00"}',
    "12345.25e+10",
    "tru",
    "-",
    "{x",
    "\\",
]


def test_the_window_changes_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each piece, wherever the window may end in it, between a string that fills the window and a text behind it.
    texts = [
        f'["{"x" * length}", {piece}{after}' + " " * 100
        for piece in PIECES
        for after in ("]", "}]", ', "b"]', '"]', "")
        for length in range(460, 516)
    ]
    near = [decode(text, 0) for text in texts]
    monkeypatch.setattr("judges.json_reader._WINDOW", 1 << 20)
    assert near == [decode(text, 0) for text in texts]
    assert 0 < sum(found is not None for found in near) < len(near)


def test_a_gold_nested_too_deeply_is_refused() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    row = example_row("{}", "arguments", "stop", True)
    with pytest.raises(ValueError, match="expected is nested deeper than 100 levels"):
        judge_case({**row, "expected": [{"name": "refund", "arguments": {"ids": deep}}]})
