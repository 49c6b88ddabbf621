"""No text makes the judge raise; strict implies tolerant; the same text always gets the same verdict."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsets.items import Dialect, GoldArgument, GoldCall, Message, ToolItem
from evalsets.responses import Response
from judges.calls import judge_call
from judges.cases import judge_case
from judges.mutations import gold_completion
from judges.turn import MAX_BYTES
from tests.judges.fuzz import wrong_with
from tests.judges.fuzz_inputs import PIECES, example_row

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


FORMS = st.sampled_from(["arguments", "hermes", "bare", "qwen_xml"])
FINISHES = st.sampled_from([None, "stop", "length"])


@settings(max_examples=300, deadline=None)
@given(TEXTS, FORMS, FINISHES, st.booleans())
def test_any_text_is_judged(raw: str, form: str, finish: str | None, wanted: bool) -> None:
    case = example_row(raw, form, finish, wanted)
    verdict = judge_case(case)
    assert wrong_with(verdict, raw) is None
    assert judge_case(case) == verdict


@settings(max_examples=100, deadline=None)
@given(st.text(), FORMS)
def test_any_unicode_is_judged(raw: str, form: str) -> None:
    assert wrong_with(judge_case(example_row(raw, form, "stop", True)), raw) is None


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
    return {**example_row(raw, "bare", finish, True), "expected": [{"name": "refund", "arguments": arguments}]}


@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_a_completion_over_the_limit_is_garbage(dialect: Dialect) -> None:
    long = "x" * (MAX_BYTES + 1)
    response = Response(item_id=GOLD.id, suite="tools", status="ok", raw=long)
    verdict = judge_call(GOLD, [], response, dialect, engine_reads=False)
    assert (verdict.primary, verdict.errors[0].got) == ("garbage", f"{MAX_BYTES + 1} bytes")
    assert judge_case(example_row(long, "arguments", None, True)).primary == "garbage"
