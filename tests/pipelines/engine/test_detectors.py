"""The fault detectors: what they must see, and the ordinary answers and prompts that they must leave alone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.engine.detectors import (
    FLOOR,
    Cycle,
    first_token_agreement,
    prompt_difference,
    repetition,
    tools_rendered,
    without_logprob,
)
from quantize.chat_template import ChatTemplate
from tests.pipelines.engine.tiny_checkpoint import TEMPLATE

END = "<|im_end|>"


def tokens(text: str) -> list[int]:
    """One token a character: the most repetitive reading of a text."""
    return [ord(letter) for letter in text]


def decode(ids: list[int]) -> str:
    return "".join(map(chr, ids))


def cycle(text: str, finished: bool) -> Cycle | None:
    return repetition([*tokens(text), *([-1] if finished else [])], decode, finished)


DEGENERATE: dict[str, tuple[str, bool, Cycle]] = {
    "overflow": ("!" * 16, False, Cycle("!", 16)),
    "overflow that stops": ("!" * 40, True, Cycle("!", 40)),
    "one Chinese character": ("的" * 16, False, Cycle("的", 16)),
    "a Chinese word": ("您好" * 8, False, Cycle("您好", 8)),
    "an English word": ("ha " * 10, False, Cycle("ha ", 10)),
    "a Chinese sentence": ("我不知道。" * 5, False, Cycle("我不知道。", 5)),
    "a false start": ("The" + "!" * 13, False, Cycle("!", 13)),
    "a Chinese false start": ("好的，" + "。" * 13, False, Cycle("。", 13)),
    "cut within the cycle": ("abc" * 5 + "a", False, Cycle("bca", 5)),
    "spaces": (" " * 16, False, Cycle(" ", 16)),
    "digits without an end": ("0" * 64, False, Cycle("0", 64)),
    "an array without an end": ("[" + "0, " * 22, False, Cycle("0, ", 22)),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_a_repetition_that_fills_an_answer_is_seen(name: str) -> None:
    text, finished, found = DEGENERATE[name]
    assert cycle(text, finished) == found


ORDINARY: dict[str, tuple[str, bool]] = {
    "nothing": ("", True),
    "nothing, cut off": ("", False),
    "a short exclamation": ("!!!!!!!", False),
    "laughter": ("ha ha ha ha ha ha", True),
    "a Chinese sentence": ("您的订单已发货，预计三天内送达。", True),
    "an English sentence": ("Your order was sent and arrives within three days.", True),
    "a sentence, cut off": ("您的订单已发货，预计三天内送", False),
    "a row of zeros": ("0000 0000 0000 0000", True),
    "a row of zeros, cut off": ("0000000000000000", False),
    "a table of digits": ("| a | b |\n|---|---|\n| 0 | 0 |\n| 0 | 0 |\n| 0 | 0 |", True),
    "a head of a table, cut off": ("| 商品 | 数量 |\n|---|---|", False),
    "an array of zeros": (json.dumps([0] * 30), True),
    "an array of zeros, cut off": ("[0, 0, 0, 0, 0, 0, 0, 0", False),
    "an array of words": (json.dumps(["yes"] * 12), True),
    "a list of one item": ("- 是\n" * 12, True),
    "an amount": ("1000000000000000", True),
    "a phrase said three times, cut off": ("明天发货给您！" * 3, False),
    "a rule below a heading": ("Summary of the order\n" + "-" * 20 + "\nSent.", True),
    "a text that ends in dots": ("好的，我帮您查询一下，请您稍等片刻" + "." * 20, True),
    "a text that begins in dots": ("." * 40 + "well", False),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_answer_is_left_alone(name: str) -> None:
    assert cycle(*ORDINARY[name]) is None


@given(st.lists(st.integers(-1000, 1000), max_size=60), st.sampled_from([None, 1, 4]))
def test_no_array_of_numbers_is_degenerate(values: list[int], indent: int | None) -> None:
    assert cycle(json.dumps(values, indent=indent), finished=True) is None


@given(st.sampled_from("0123456789"), st.integers(1, 20), st.integers(1, 12), st.sampled_from([" ", " | ", "\t", "，"]))
def test_no_table_of_one_digit_is_degenerate(digit: str, columns: int, rows: int, between: str) -> None:
    table = "\n".join(between.join([digit * 4] * columns) for _ in range(rows))
    assert cycle(table, finished=True) is None
    assert cycle(table[:16], finished=False) is None


@given(
    st.lists(
        st.sampled_from(["退款", "发货", "apples", "pears", "订单", "refund"]), min_size=2, max_size=30, unique=True
    )
)
def test_no_list_of_different_things_is_degenerate(things: list[str]) -> None:
    for text in (
        "\n".join(f"- {thing}" for thing in things),
        json.dumps(things, ensure_ascii=False),
        "、".join(things),
    ):
        assert cycle(text, finished=True) is None
        assert cycle(text[:16], finished=False) is None


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(8, 40), st.lists(st.integers(10, 99), max_size=2)
)
def test_every_short_cycle_without_digits_is_seen(unit: list[int], times: int, start: list[int]) -> None:
    found = repetition(start + unit * times, lambda ids: "词" * len(ids), finished=False)
    assert found is not None
    assert len(found.text) <= len(unit)
    assert found.repeats >= times


LOGPROBS: dict[str, tuple[list[float] | None, int, int]] = {
    "all there": ([-0.5, 0.0, -12.25], 3, 0),
    "no token, none sent": ([], 0, 0),
    "nothing sent": (None, 3, 3),
    "an empty list": ([], 3, 3),
    "one too few": ([-0.5, -0.5], 3, 1),
    "NaN": ([-0.5, math.nan, -0.5], 3, 1),
    "minus infinity": ([-math.inf], 1, 1),
    "as the engine writes both": ([-0.5, FLOOR], 2, 1),
    "NaN and one too few": ([math.nan, -0.5], 3, 2),
    "NaN without a token": ([math.nan], 0, 1),
}


@pytest.mark.parametrize("name", LOGPROBS)
def test_tokens_without_a_finite_logprob_are_counted(name: str) -> None:
    values, count, lost = LOGPROBS[name]
    assert without_logprob(values, count) == lost


AGREEMENT: list[tuple[dict[str, int], dict[str, int], float | None]] = [
    ({"a": 1, "b": 2}, {"a": 1, "b": 2}, 1.0),
    ({"a": 1, "b": 2}, {"a": 1, "b": 3}, 0.5),
    ({"a": 1, "b": 2}, {"b": 3, "c": 1}, 0.0),
    ({"a": 1}, {"b": 1}, None),
    ({}, {}, None),
]


@pytest.mark.parametrize(("baseline", "candidate", "share"), AGREEMENT)
def test_first_tokens_are_compared_by_answer(
    baseline: dict[str, int], candidate: dict[str, int], share: float | None
) -> None:
    assert first_token_agreement(baseline, candidate) == share
    assert first_token_agreement(candidate, baseline) == share


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_prompts_are_equal_up_to_the_first_difference(planned: list[int], seen: list[int]) -> None:
    place = prompt_difference(planned, seen)
    assert (place is None) == (planned == seen)
    if place is not None:
        assert planned[:place] == seen[:place]
        assert planned[place : place + 1] != seen[place : place + 1]


def tool(name: str, **parameters: Any) -> dict[str, Any]:
    function = {
        "name": name,
        "description": "退款给客户 {or not}",
        "parameters": {"type": "object", "properties": parameters, "required": list(parameters)},
    }
    return {"type": "function", "function": function}


REFUND = tool("refund", amount={"type": "number", "minimum": 1.0, "enum": [1, 2.5]})
ORDER = tool(
    "get-order", id={"type": "string", "description": '订单 "编号" {x}'}, deep={"type": "object", "properties": {}}
)
TOOLS = [REFUND, ORDER]
CALL = '\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'


def shown(*tools: object) -> str:
    return (
        "# Tools\n<tools>" + "".join(f"\n{json.dumps(one, ensure_ascii=False)}" for one in tools) + "\n</tools>" + CALL
    )


def edited(change: Callable[[str], str]) -> str:
    return shown(REFUND) + change(json.dumps(ORDER, ensure_ascii=False))


RENDERED: dict[str, tuple[str, str, str]] = {
    "one a line": (shown(*TOOLS), "json", ""),
    "in another order": (shown(*TOOLS[::-1]), "json", ""),
    "in a list": (f"[AVAILABLE_TOOLS] {json.dumps(TOOLS)}[/AVAILABLE_TOOLS]", "json", ""),
    "as functions alone": (shown(*(one["function"] for one in TOOLS)), "json", ""),
    "indented, keys sorted": ("\n\n".join(json.dumps(one, indent=4, sort_keys=True) for one in TOOLS), "json", ""),
    "with escapes": ("\n".join(json.dumps(one, ensure_ascii=True) for one in TOOLS), "json", ""),
    "before a call of one": (shown(*TOOLS) + '{"name": "refund", "arguments": {"amount": 1}}', "json", ""),
    "before braces of the user's": (shown(*TOOLS) + 'user: why does {{"x": 1}} fail?', "json", ""),
    "in doubled braces": (
        "\n".join("{" + json.dumps(one) + "}" for one in TOOLS),
        "damaged",
        "refund stands in doubled",
    ),
    "in doubled braces with spaces": (
        "{ " + json.dumps(REFUND) + " }" + json.dumps(ORDER),
        "damaged",
        "in doubled braces",
    ),
    "every brace doubled": (
        shown(*TOOLS).replace("{", "{{").replace("}", "}}"),
        "damaged",
        "refund is no JSON, and braces are doubled",
    ),
    "one left out": (shown(REFUND), "damaged", "get-order is nowhere in the prompt"),
    "all left out": ("# Tools\n" + CALL, "damaged", "refund is nowhere in the prompt"),
    "a name that begins alike": (shown(REFUND, tool("get-order-2")), "damaged", "get-order is nowhere"),
    "beside a changed copy": (edited(str) + shown(REFUND).replace("2.5", '"2.5"'), "json", ""),
    "a parameter lost": (
        edited(lambda text: text.replace(', "deep"', ', "depth"')),
        "damaged",
        "not shown as it was sent",
    ),
    "a number rounded": (shown(ORDER) + json.dumps(REFUND).replace("1.0", "1"), "damaged", "refund is not shown as it"),
    "a comma lost": (
        edited(lambda text: text.replace('", "function"', '" "function"', 1).replace("}, ", "} ")),
        "damaged",
        "",
    ),
    "one as text": (shown(REFUND) + "get-order(id: string)", "damaged", "get-order is no JSON, others are"),
    "all as text": ("refund(amount: number)\nget-order(id: string)", "not checked", "does not show tools as JSON"),
    "as Python writes it": (repr(TOOLS), "not checked", "does not show tools as JSON"),
    "as XML": (
        "<function><name>refund</name></function><function><name>get-order</name></function>",
        "not checked",
        "",
    ),
}


@pytest.mark.parametrize("name", RENDERED)
def test_tools_in_a_prompt(name: str) -> None:
    text, rendering, found = RENDERED[name]
    verdict = tools_rendered(text, TOOLS)
    assert verdict.rendering == rendering
    assert found in verdict.found


def test_a_template_that_doubles_braces_is_caught(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes((checkpoint / "tokenizer.json").read_bytes())
    messages: list[dict[str, Any]] = [{"role": "user", "content": "退款"}]
    good = TEMPLATE
    bad = good.replace("{{ tool | tojson }}", "{{- '{' }}{{ tool | tojson }}{{- '}' }}")
    assert bad != good
    for template, rendering in ((good, "json"), (bad, "damaged")):
        (tmp_path / "chat_template.jinja").write_text(template, "utf-8")
        assert tools_rendered(ChatTemplate(tmp_path).text(messages, TOOLS), TOOLS).rendering == rendering


NAMES = st.text("abcdefghij_-", min_size=1, max_size=12).filter(lambda name: not name.startswith("-"))
LEAVES: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@settings(max_examples=25, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_any_tools_as_json_are_found_and_doubled_ones_refused(
    names: Sequence[str], value: Any, escaped: bool, indent: int | None
) -> None:
    tools = [tool(name, x=value) for name in names]
    lines = [json.dumps(one, ensure_ascii=escaped, indent=indent) for one in tools]
    assert tools_rendered("\n".join(lines), tools).rendering == "json"
    assert tools_rendered("\n".join(f"{{{line}}}" for line in lines), tools).rendering == "damaged"
    assert tools_rendered("\n".join(lines[1:]) + "...", tools).rendering == "damaged"
