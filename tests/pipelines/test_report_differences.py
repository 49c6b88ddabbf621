"""The spans that are marked in a candidate's answer, and the part of a long answer that is shown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reporting.differences import ANSWER_LIMIT, LEAD, differing, side_by_side


def marked(baseline: str, candidate: str) -> str:
    parts, done = [], 0
    for first, last in differing(baseline, candidate):
        parts += [candidate[done:first], "[", candidate[first:last], "]"]
        done = last
    return "".join([*parts, candidate[done:]])


@pytest.mark.parametrize(
    ("baseline", "candidate", "expected"),
    [
        ("same", "same", "same"),
        ('{"a": 12900}', '{"a": 12900.0000001}', '{"a": 12900[.0000001]}'),
        ('{"amount": 12900}', '{"amount": 1290}', '{"amount": [1290]}'),
        ('{"orderNo": "A"}', '{"order_no": "A"}', '{"[order_no]": "A"}'),
        ('{"a": 1}', '{"a": 1,}', '{"a": 1[,]}'),
        ('{"a": [1, 2]}', '{"a": [1, 2}', '{"a": [1, 2[]}'),
        ("华东、西南", "华东、西北", "华东、西[北]"),
        ("退货七天内", "退货十天内", "退货[十]天内"),
        ("甲乙丙丁戊", "己乙庚辛壬癸", "[己乙庚辛壬癸]"),
        ("", "new", "[new]"),
        ("old", "", "[]"),
        ("B", "The answer is C", "[The answer is C]"),
    ],
)
def test_what_differs_is_marked(baseline: str, candidate: str, expected: str) -> None:
    assert marked(baseline, candidate) == expected


@given(st.text(alphabet="ab1 ,中"), st.text(alphabet="ab1 ,中"))
def test_what_is_not_marked_comes_from_the_baseline_in_order(baseline: str, candidate: str) -> None:
    spans = differing(baseline, candidate)
    assert (spans == []) == (baseline == candidate)
    assert spans == sorted(spans)
    kept = [candidate[a:b] for (_, a), (b, _) in zip([(0, 0), *spans], [*spans, (len(candidate),) * 2], strict=True)]
    position = 0
    for part in kept:
        position = baseline.index(part, position) + len(part)


def test_marks_survive_spelling_and_fences() -> None:
    shown = side_by_side("one\ntwo", "one\n```two")
    assert shown.baseline == "```text\none⏎\ntwo\n```"
    assert shown.candidate == "~~~text\none⏎\n⟦```⟧two\n~~~"


def test_an_empty_answer_is_said_to_be_empty() -> None:
    assert side_by_side("x", "").candidate == "(empty)"


def test_a_long_answer_is_shown_around_its_first_difference() -> None:
    same = "0123456789" * 500
    shown = side_by_side(same + "X tail", same + "Y tail")
    assert shown.candidate.startswith(f"Cut: characters {5000 - LEAD + 1:,} to 5,006 of 5,006.")
    assert "⟦Y⟧ tail" in shown.candidate
    assert "X tail" in shown.baseline


@pytest.mark.parametrize("late", ["P", ""])
def test_a_difference_beyond_the_cut_is_not_marked(late: str) -> None:
    same = "x" * (ANSWER_LIMIT - 3)
    shown = side_by_side(f"A {same} {late}{same}", f"B {same} Q{same}")
    assert shown.candidate == f"Cut: characters 1 to 1,500 of 2,998.\n\n```text\n⟦B⟧ {same} \n```"


@pytest.mark.parametrize("unit", ["ab ", "a", "{", "`", "\x00", "中"])
def test_hostile_lengths_are_compared_quickly_and_shown_short(unit: str) -> None:
    began = time.perf_counter()
    shown = side_by_side(unit * 33_000, "x" + unit * 100_000)
    assert time.perf_counter() - began < 2
    assert len(shown.candidate) < ANSWER_LIMIT * 4
