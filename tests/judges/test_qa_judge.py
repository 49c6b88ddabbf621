"""Answers to questions: match kinds, named normalisers, error labels."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from evalsets.items import Match, Message, Normaliser, QaItem
from evalsets.responses import Response
from judges.normalise import normalise
from judges.qa import judge_answer
from judges.verdicts import Verdict

MATCH: TypeAdapter[Any] = TypeAdapter(Match)
NUMERIC = {"kind": "numeric", "normalisers": ["ascii_width", "drop_thousands"], "tolerance": "0", "units": ["元", "%"]}
ONLY = {**NUMERIC, "find": "only"}
WHOLE = {**NUMERIC, "find": "whole"}
CHOICE = {"kind": "choice", "normalisers": ["ascii_width"], "options": ["A", "B", "C", "D"]}
EXACT = {"kind": "exact", "normalisers": ["first_line", "drop_label", "trim_punct", "unquote", "casefold", "strip"]}
CONTAINS = {"kind": "contains", "normalisers": ["drop_space"], "absent": ["不支持"]}
SET = {"kind": "set", "normalisers": ["strip", "trim_punct"], "separators": ["、", ",", "\n"]}


def judge(match: dict[str, Any], answers: list[str], raw: str, **response: Any) -> Verdict:
    item = QaItem(
        id="qa-0001",
        domain="service",
        cluster="c",
        split="release",
        lang="zh",
        messages=[Message(role="user", content="?")],
        answers=answers,
        match=MATCH.validate_python(match),
    )
    return judge_answer(item, Response(item_id=item.id, suite="qa", status="ok", raw=raw, **response))


ANSWERS: list[tuple[dict[str, Any], list[str], str, str | None]] = [
    (ONLY, ["299"], "价格是299元。", None),
    (ONLY, ["299"], "299.00", None),
    (ONLY, ["299"], "２９９", None),
    (ONLY, ["12900"], "12,900 元", None),
    (ONLY, ["12900"], "12900.0000001", "answer_wrong"),
    (ONLY, ["299"], "299元，原价399元", "several_answers"),
    (ONLY, ["299"], "299 或 299", "several_answers"),
    (ONLY, ["299"], "不清楚", "no_answer"),
    (ONLY, ["299"], "", "no_answer"),
    (ONLY, ["-5"], "零下 -5 度", None),
    (ONLY, ["-5"], "5", "answer_wrong"),
    (ONLY, ["1000"], "1e3", None),
    (ONLY, ["7"], "订单 A7", "no_answer"),
    ({**ONLY, "tolerance": "0.5"}, ["10"], "10.5", None),
    ({**ONLY, "tolerance": "0.5"}, ["10"], "10.51", "answer_wrong"),
    (WHOLE, ["15"], "15%", None),
    (WHOLE, ["15"], "15 元", None),
    (WHOLE, ["15"], "大约15", "answer_wrong"),
    (WHOLE, ["15"], "15天", "answer_wrong"),
    (CHOICE, ["B"], "B", None),
    (CHOICE, ["B"], "选B。", None),
    (CHOICE, ["B"], "Ｂ", None),
    (CHOICE, ["B"], "B 和 C", "several_answers"),
    (CHOICE, ["B"], "Bad idea", "no_answer"),
    (CHOICE, ["B"], "C", "answer_wrong"),
    ({**CHOICE, "options": ["是", "否"]}, ["是"], "答案：是。", None),
    ({**CHOICE, "options": ["是", "否"]}, ["是"], "不是", "no_answer"),
    (EXACT, ["Shanghai"], "Answer: **shanghai**.\nIt is the port.", None),
    (EXACT, ["Shanghai"], "Shanghai Port", "answer_wrong"),
    (EXACT, ["café"], "cafe\u0301", None),
    (EXACT, ["Shanghai"], " \n ", "no_answer"),
    (CONTAINS, ["七天无理由"], "支持 七天 无理由退货", None),
    (CONTAINS, ["七天无理由"], "不支持七天无理由", "answer_wrong"),
    (CONTAINS, ["七天无理由"], "三十天", "answer_wrong"),
    (SET, ["微信", "支付宝"], "支付宝、微信", None),
    (SET, ["微信", "支付宝"], "微信, 支付宝。", None),
    (SET, ["微信", "支付宝"], "微信", "answer_wrong"),
    (SET, ["微信", "支付宝"], "微信、支付宝、银行卡", "answer_wrong"),
]


@pytest.mark.parametrize(("match", "answers", "raw", "label"), ANSWERS)
def test_answers(match: dict[str, Any], answers: list[str], raw: str, label: str | None) -> None:
    verdict = judge(match, answers, raw)
    assert verdict.primary == label
    assert verdict.strict_ok == verdict.tolerant_ok == (label is None)


def test_tokens_and_thinking_are_no_part_of_the_answer() -> None:
    assert judge(ONLY, ["299"], "<think>Maybe 399?</think>\n299<|im_end|>\n<|endoftext|>").strict_ok
    assert judge(ONLY, ["299"], "<think>299").primary == "no_answer"


def test_a_capped_answer_is_truncated_only_where_it_is_not_right() -> None:
    assert judge(ONLY, ["299"], "299", capped=True).strict_ok
    assert [error.kind for error in judge(ONLY, ["299"], "2", capped=True).errors] == ["truncated", "answer_wrong"]
    assert judge(ONLY, ["299"], "我想", finish_reason="length").primary == "truncated"


def test_infrastructure_failures_are_not_judged() -> None:
    item_id = judge(ONLY, ["1"], "1").item_id
    item = QaItem(
        id=item_id,
        domain="service",
        cluster="c",
        split="release",
        lang="zh",
        messages=[Message(role="user", content="?")],
        answers=["1"],
        match=MATCH.validate_python(ONLY),
    )
    verdict = judge_answer(item, Response(item_id=item_id, suite="qa", status="infra", error="timed out", run=2))
    assert (verdict.status, verdict.primary, verdict.run) == ("unjudged", "infra", 2)
    assert not verdict.strict_ok and not verdict.tolerant_ok and verdict.errors == []


def test_repetition_to_the_end_is_garbage() -> None:
    assert judge(ONLY, ["299"], "!" * 300).primary == "garbage"


@pytest.mark.parametrize(
    ("names", "text", "expected"),
    [
        (["strip"], " a b ", "a b"),
        (["first_line"], "\n  \n a\nb", " a"),
        (["drop_label"], "答案： 42", "42"),
        (["drop_label"], "Answer the phone", "Answer the phone"),
        (["unquote"], "“退款”", "退款"),
        (["unquote"], "**B**", "B"),
        (["unquote"], '"a', '"a'),
        (["trim_punct"], "好的。！ ", "好的"),
        (["ascii_width"], "Ａ１，　", "A1, "),
        (["casefold"], "Straße", "strasse"),
        (["collapse_space"], " a \n b ", "a b"),
        (["drop_space"], " a \n b ", "ab"),
        (["drop_thousands"], "1,299 and 12,34 and 1,299,000.50", "1299 and 12,34 and 1299000.50"),
        ([], " A。", " A。"),
    ],
)
def test_normalisers(names: list[Normaliser], text: str, expected: str) -> None:
    assert normalise(text, names) == expected


@given(st.text(), st.sampled_from([ONLY, WHOLE, CHOICE, EXACT, CONTAINS, SET]))
def test_any_answer_is_judged(raw: str, match: dict[str, Any]) -> None:
    verdict = judge(match, ["299"], raw)
    assert verdict.strict_ok == verdict.tolerant_ok == (verdict.primary is None)
