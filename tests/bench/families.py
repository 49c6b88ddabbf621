"""Completions of any length for the benchmark: right calls, damaged ones and prose, one family for each shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from evalsets.items import Dialect, Function, GoldArgument, GoldCall, Message, Tool, ToolItem
from evalsets.records import Json
from judges.golds import call_text, completion

Value = tuple[str, Callable[[int], Json], int]  # the argument, its value by number of units, the bytes of a unit

TOOLS = [
    Tool(
        function=Function(
            name="record",
            description="",
            parameters={
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "ids": {"type": "array", "items": {"type": "integer"}},
                    "rows": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}},
                        },
                    },
                },
            },
        )
    )
]
_ENGLISH: Value = ("text", lambda count: "All is well here. " * count, 18)
_CHINESE: Value = ("text", lambda count: "这里一切正常。" * count, 21)
_NUMBERS: Value = ("ids", lambda count: [*range(1000, 1000 + count)], 7)
_ROWS: Value = ("rows", lambda count: [{"sku": "A-1001", "qty": 3}] * count, 30)


@dataclass(frozen=True, slots=True)
class Family:
    """One shape of completion. `make` gives item, completion and dialect for a length in bytes, never more of them."""

    group: str
    name: str
    make: Callable[[int], tuple[ToolItem, str, Dialect]]


def _item(arguments: list[dict[str, Json]]) -> ToolItem:
    calls = [
        GoldCall(name="record", args={key: GoldArgument(any_of=[value]) for key, value in one.items()})
        for one in arguments
    ]
    message = Message(role="user", content="Record it.")
    return ToolItem(
        id="bench-001",
        domain="tools",
        cluster="bench",
        split="dev",
        lang="en",
        messages=[message],
        toolset="bench",
        expect="call",
        calls=calls,
    )


def _right(value: Value, dialect: Dialect = "hermes") -> Callable[[int], tuple[ToolItem, str, Dialect]]:
    key, make, unit = value

    def made(length: int) -> tuple[ToolItem, str, Dialect]:
        content = make((length - 100) // unit)
        return _item([{key: content}]), _written(key, content, dialect), dialect

    return made


def _written(key: str, content: Json, dialect: Dialect) -> str:
    if dialect != "qwen_xml":
        return completion([call_text("record", {key: content})], dialect)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    parameter = f"<parameter={key}>\n{text}\n</parameter>"
    return f"<tool_call>\n<function=record>\n{parameter}\n</function>\n</tool_call>"


def _several(length: int) -> tuple[ToolItem, str, Dialect]:
    """A call for every kilobyte, in the order wanted."""
    arguments: list[dict[str, Json]] = [{"text": f"{index} " + "All is well. " * 70} for index in range(length // 1024)]
    texts = [call_text("record", one) for one in arguments]
    return _item(arguments), completion(texts, "hermes"), "hermes"


def _damaged(value: Value, change: Callable[[str], str]) -> Callable[[int], tuple[ToolItem, str, Dialect]]:
    def made(length: int) -> tuple[ToolItem, str, Dialect]:
        item, raw, dialect = _right(value)(length)
        return item, change(raw), dialect

    return made


def _prose(unit: str, before: str = "", after: str = "") -> Callable[[int], tuple[ToolItem, str, Dialect]]:
    def made(length: int) -> tuple[ToolItem, str, Dialect]:
        room = length - len((before + after).encode())
        text = before + unit * (room // len(unit.encode())) + after
        return _item([{"text": "well"}]), text, "hermes"

    return made


FAMILIES = [
    Family("right", "one long English string", _right(_ENGLISH)),
    Family("right", "one long Chinese string", _right(_CHINESE)),
    Family("right", "an array of integers", _right(_NUMBERS)),
    Family("right", "an array of objects", _right(_ROWS)),
    Family("right", "an array of objects, bare JSON", _right(_ROWS, "bare")),
    Family("right", "one long Chinese string, qwen_xml", _right(_CHINESE, "qwen_xml")),
    Family("right", "an array of objects, qwen_xml", _right(_ROWS, "qwen_xml")),
    Family("right", "a call for every kilobyte", _several),
    Family(
        "right",
        "a think block, then a call",
        _prose(
            "So I have to record it. ",
            "<think>",
            '</think>\n<tool_call>\n{"name": "record", "arguments": {"text": "well"}}\n</tool_call>',
        ),
    ),
    Family("damaged", "cut inside a string", _damaged(_ENGLISH, lambda raw: raw[:-40])),
    Family("damaged", "cut inside an array", _damaged(_ROWS, lambda raw: raw[:-40])),
    Family("damaged", "one comma too many at the end", _damaged(_ROWS, lambda raw: raw.replace("}}", "},}"))),
    Family("damaged", "one brace lacking at the end", _damaged(_ROWS, lambda raw: raw.replace("}\n", "\n"))),
    Family("damaged", "two quotes not escaped", _damaged(_ENGLISH, lambda raw: raw.replace("All", 'A"l"', 1))),
    Family("damaged", "every string in single quotes", _damaged(_ROWS, lambda raw: raw.replace('"', "'"))),
    Family("damaged", "every other comma lacking", _damaged(_ROWS, lambda raw: raw.replace(', "qty"', ' "qty"'))),
    Family("damaged", "bad escapes all over a string", _damaged(_ENGLISH, lambda raw: raw.replace("well", "\\ell"))),
    Family("damaged", "quotes all over a string", _damaged(_ENGLISH, lambda raw: raw.replace("well", '"el"'))),
    Family("prose", "English", _prose("The order was refunded, thank you. ")),
    Family("prose", "Chinese", _prose("订单已退款，谢谢您的耐心等待。")),
    Family("prose", "with placeholders in braces", _prose("The {order} was [refunded]. ")),
    Family("prose", "with fenced JSON", _prose('Like this:\n```json\n{"a": [1, 2]}\n```\n')),
]
