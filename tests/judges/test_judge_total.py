"""No text makes the judge raise; strict implies tolerant; the same text always gets the same verdict."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsets.items import Dialect, GoldArgument, GoldCall, Message, ToolItem
from evalsets.responses import Response
from judges.calls import judge_call
from judges.cases import judge_case, read_line
from judges.labels import EXAMPLE_TOOLS
from judges.mutations import gold_completion
from judges.turn import MAX_BYTES
from judges.verdicts import Verdict

CASES = [read_line(line) for line in (Path(__file__).parent / "data" / "cases.jsonl").read_text("utf-8").splitlines()]
PIECES = [
    *("<tool_call>", "</tool_call>", "<think>", "</think>", "```json\n", "<|im_end|>", '"name"', '"arguments"'),
    *("<function=refund>", "</function>", "<parameter=qty>", "</parameter>", "null", "NaN", '{"a":1}', ",,", "}}", "]"),
    *('\\"', "\\u12", "12,900", "1e999999999999999999999", "9" * 400, "“", "：", "１２", "\x00", "\ud800", "[" * 300),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12).map("".join)
GOLD = ToolItem(
    id="tools-001",
    domain="tools",
    cluster="c",
    split="release",
    lang="en",
    messages=[Message(role="user", content="Refund it.")],
    toolset="t",
    expect="call",
    calls=[GoldCall(name="refund", args={"amount": GoldArgument(any_of=[12900]), "note": GoldArgument(any_of=["x"])})],
)


def check(verdict: Verdict, raw: object) -> None:
    """What holds of every verdict."""
    assert verdict.strict_ok == (verdict.primary is None) == (not verdict.errors)
    assert verdict.tolerant_ok or not verdict.strict_ok
    assert not verdict.errors or verdict.primary == verdict.errors[0].kind
    for error in verdict.errors:
        if error.span and isinstance(raw, str):
            assert 0 <= error.span[0] <= error.span[1] <= len(raw)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def row(raw: str, form: str, finish: str | None, wanted: bool) -> dict[str, Any]:
    return {
        "tool_schema": [{"name": name, "parameters": parameters} for name, parameters in EXAMPLE_TOOLS.items()],
        "expected": [{"name": "refund", "arguments": {"amount": 12900}}] if wanted else [],
        "raw": raw,
        "form": form,
        "called_name": "refund",
        "finish_reason": finish,
    }


FORMS = st.sampled_from(["arguments", "hermes", "bare", "qwen_xml"])
FINISHES = st.sampled_from([None, "stop", "length"])


@settings(max_examples=300, deadline=None)
@given(TEXTS, FORMS, FINISHES, st.booleans())
def test_any_text_is_judged(raw: str, form: str, finish: str | None, wanted: bool) -> None:
    case = row(raw, form, finish, wanted)
    verdict = judge_case(case)
    check(verdict, raw)
    assert judge_case(case) == verdict


@settings(max_examples=100, deadline=None)
@given(st.text(), FORMS)
def test_any_unicode_is_judged(raw: str, form: str) -> None:
    check(judge_case(row(raw, form, "stop", True)), raw)


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _drop(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randrange(1, 6) :]


def _insert(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(PIECES) + text[at:]


def _repeat(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at : at + 5] * 30 + text[at + 5 :]


MUTATORS: list[Callable[[str, random.Random], str]] = [_cut, _drop, _insert, _repeat]


def test_mutated_outputs_are_judged() -> None:
    rng = random.Random(20260501)
    for _ in range(3000):
        case = dict(rng.choice(CASES))
        if not isinstance(case["raw"], str):
            continue
        for _ in range(rng.choice([1, 1, 2, 4])):
            case["raw"] = rng.choice(MUTATORS)(case["raw"], rng)
        case["finish_reason"] = rng.choice([None, "stop", "length"])
        check(judge_case(case), case["raw"])


def test_a_cut_answer_never_passes_unless_only_closers_lack() -> None:
    right = gold_completion(GOLD, "bare")
    for length in range(len(right)):
        verdict = judge_case(_gold_row(right[:length], "stop"))
        lacks = right[length:]
        assert verdict.tolerant_ok == (set(lacks) <= set("}") and verdict.recoveries == ["missing_closers"])
        assert not judge_case(_gold_row(right[:length], None)).tolerant_ok
        assert not judge_case(_gold_row(right[:length], "length")).tolerant_ok


def _gold_row(raw: str, finish: str | None) -> dict[str, Any]:
    arguments = {"amount": 12900, "note": "x"}
    return {**row(raw, "bare", finish, True), "expected": [{"name": "refund", "arguments": arguments}]}


@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_a_completion_over_the_limit_is_garbage(dialect: Dialect) -> None:
    long = "x" * (MAX_BYTES + 1)
    response = Response(item_id=GOLD.id, suite="tools", status="ok", raw=long)
    verdict = judge_call(GOLD, [], response, dialect, engine_reads=False)
    assert (verdict.primary, verdict.errors[0].got) == ("garbage", f"{MAX_BYTES + 1} bytes")
    assert judge_case(row(long, "arguments", None, True)).primary == "garbage"


HOSTILE = [
    "[" * 60_000,
    '{"a":' * 12_000,
    '"' * 60_000,
    "{" + "," * 60_000,
    '{"a": "' + "\\q" * 30_000,
    "<tool_call>" * 5_900,
    '{"type": 1}' * 5_900,
    '{"name": "refund", "arguments": {}}' * 1_800,
    "<function=refund>" * 3_800,
    "<|" * 30_000,
    '{"a": [1}, ' * 5_900,
    '{"x": ' + "9" * 60_000 + "}",
    "text " + "{ " * 30_000,
]


@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_judged(raw: str) -> None:
    for form in ("arguments", "hermes", "bare", "qwen_xml"):
        check(judge_case(row(raw, form, "stop", True)), raw)
