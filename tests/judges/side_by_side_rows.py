"""The rows of tests/judges/side_by_side.py: answers in the hermes dialect, made from one item's gold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from evalsets.items import GoldCall, Tool, ToolItem
from evalsets.records import Json
from judges.call_shape import tools_by_name
from judges.damages import damaged
from judges.golds import call_text, completion, gold_arguments, render
from judges.mutations import gold_completion, mutations
from judges.schema import Place
from judges.string_classes import string_class

HEADLINES = ("float_drift", "key_case", "enum_case", "stringified", "extra_key", "call_order")
SYNTAX = "json_syntax."
Spelled = tuple[str, str]  # what was done, and the text of the call


@dataclass(frozen=True, slots=True)
class Row:
    """One answer: its class in the table, the label the judge must give it (None: it is right), and its text."""

    kind: str
    label: str | None
    raw: str
    item: ToolItem


def wrong_rows(item: ToolItem, tools: Sequence[Tool]) -> Iterator[Row]:
    """Every answer that is wrong in one respect: the mutations of the headline classes, ids, attempts unasked for."""
    for mutation in mutations(item, tools, "hermes"):
        if mutation.label in HEADLINES or mutation.label.startswith(SYNTAX):
            yield Row(mutation.label, mutation.label, mutation.raw, item)
        elif mutation.label == "call_unneeded":
            yield Row("call_unneeded, well-formed", mutation.label, mutation.raw, item)
    if item.expect == "no_call":
        for _, text in damaged(tools[0].function.name, {}):
            yield Row("call_unneeded, malformed", "call_unneeded", completion([text], "hermes"), item)
    places = _places(tools)
    for index, call in enumerate(item.calls):
        arguments = gold_arguments(call)
        for key, value in arguments.items():
            for what, other in _drifted(value, places[call.name].key(key)):
                text = call_text(call.name, {**arguments, key: other})
                yield Row(f"id_drift, {what}", "id_drift", _with(item, index, text), item)


def right_rows(item: ToolItem, tools: Sequence[Tool]) -> Iterator[Row]:
    """Answers that are right: the gold itself, and the same in other spellings."""
    gold, places = gold_completion(item, "hermes"), _places(tools)
    yield Row("the gold" if item.calls else "no call", None, gold, item)
    if not item.calls:
        example = call_text(tools[0].function.name, {})
        yield Row("no call, JSON shown in prose", None, f"A call looks like this: {example}. Shall I?", item)
        return
    yield Row("prose before the calls", None, f"好的。\n{gold}", item)
    texts = [call_text(call.name, gold_arguments(call)) for call in item.calls]
    if len(texts) > 1 and item.order == "any":
        yield Row("parallel calls in another order", None, completion(texts[::-1], "hermes"), item)
    for index, call in enumerate(item.calls):
        for what, text in _spelled(call, places[call.name]):
            yield Row(what, None, _with(item, index, text), item)


def _places(tools: Sequence[Tool]) -> Mapping[str, Place]:
    return tools_by_name([(tool.function.name, tool.function.parameters) for tool in tools])


def _with(item: ToolItem, index: int, text: str) -> str:
    """The gold completion with the text of one call in the place of its own."""
    texts = [call_text(call.name, gold_arguments(call)) for call in item.calls]
    return completion([*texts[:index], text, *texts[index + 1 :]], "hermes")


def _drifted(value: Json, place: Place) -> Iterator[tuple[str, str]]:
    """An identifier in other spellings that the judge's own rule calls a drift."""
    if not isinstance(value, str) or place.choices() is not None:
        return
    swaps = [at for at in range(len(value) - 1) if value[at] != value[at + 1]]
    if swaps and value[swaps[-1]].isalnum() and value[swaps[-1] + 1].isalnum():
        at = swaps[-1]
        yield from _if_drift(
            "two characters swapped", value, f"{value[:at]}{value[at + 1]}{value[at]}{value[at + 2 :]}"
        )
    yield from _if_drift("letter case", value, value.swapcase())
    yield from _if_drift("separators left out", value, re.sub("[-_.]", "", value))


def _if_drift(what: str, value: str, other: str) -> Iterator[tuple[str, str]]:
    if other != value and string_class(value, other) == "id_drift":
        yield what, other


def _spelled(call: GoldCall, place: Place) -> Iterator[Spelled]:
    """One call in other right spellings."""
    arguments = gold_arguments(call)
    whole = call_text(call.name, arguments)
    if len(arguments) > 1:
        yield "arguments in another order", call_text(call.name, dict(reversed(arguments.items())))
    members = "{" + ", ".join(f"{render(key)}: {render(value)}" for key, value in arguments.items()) + "}"
    yield "`arguments` before `name`", f'{{"arguments": {members}, "name": {render(call.name)}}}'
    yield "JSON over several lines", whole.replace(', "arguments": ', ',\n  "arguments": ', 1)
    if not whole.isascii():
        yield "characters as \\u escapes", re.sub(r"[^\x00-\x7f]+", lambda run: json.dumps(run.group())[1:-1], whole)
    for key, value in arguments.items():
        if "number" in place.key(key).types() and isinstance(value, int | Decimal):
            yield from _numbers(call.name, arguments, key, Decimal(value))
        if call.args[key].omit_ok:
            yield (
                "an optional argument left out",
                call_text(call.name, {k: v for k, v in arguments.items() if k != key}),
            )
        for other in call.args[key].any_of[1:]:
            yield "another accepted value", call_text(call.name, {**arguments, key: other})
    for key in place.properties():
        default = place.key(key).default()
        if key not in arguments and default:
            yield "a default given", call_text(call.name, {**arguments, key: default[0]})


def _numbers(name: str, arguments: Mapping[str, Json], key: str, value: Decimal) -> Iterator[Spelled]:
    yield "a number with more zeros", call_text(name, arguments, {key: f"{value}{'0' if '.' in str(value) else '.00'}"})
    if value == value.to_integral_value():
        yield "a whole number without a fraction", call_text(name, arguments, {key: str(int(value))})
