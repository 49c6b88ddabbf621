"""Every mutation of a gold is wrong, by exactly the label it was made for."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any, Literal

import pytest

from evalsets.items import Dialect, Function, GoldArgument, GoldCall, Message, Tool, ToolItem
from evalsets.responses import Response
from judges.calls import judge_call
from judges.golds import completion
from judges.labels import EXAMPLE_TOOLS
from judges.mutations import gold_completion, mutations

TOOLS = [
    Tool(function=Function(name=name, description="", parameters=parameters))
    for name, parameters in EXAMPLE_TOOLS.items()
]


def item(
    calls: list[tuple[str, dict[str, Any]]],
    order: Literal["any", "strict"] = "any",
    expect: Literal["call", "no_call"] = "call",
) -> ToolItem:
    golds = [
        GoldCall(name=name, args={key: GoldArgument(any_of=[value]) for key, value in arguments.items()})
        for name, arguments in calls
    ]
    return ToolItem(
        id="tools-001",
        domain="tools",
        cluster="c",
        split="release",
        lang="zh",
        messages=[Message(role="user", content="退款")],
        toolset="t",
        expect=expect,
        calls=golds,
        order=order,
    )


FULL = {
    "orderNo": "SO-20240017",
    "amount": Decimal("12900.50"),
    "qty": 3,
    "urgent": True,
    "status": "paid",
    "due": "2026-05-01",
    "note": "易碎 品",
    "ids": [1, 2],
}
ITEMS = {
    "full": item([("refund", FULL)]),
    "hard strings": item([("refund", {"amount": 12900, "qty": 0, "note": 'a\nb, "c": d', "page": 1})]),
    "two in order": item(
        [("refund", {"orderNo": "Room 5, Block B", "qty": 1200}), ("cancel", {"orderNo": "1"})], "strict"
    ),
    "no arguments": item([("cancel", {})]),
    "no call": item([], expect="no_call"),
}


def errors(gold: ToolItem, raw: str, dialect: Dialect) -> list[str]:
    response = Response(item_id=gold.id, suite="tools", status="ok", raw=f"{raw}<|im_end|>", finish_reason="stop")
    return [error.kind for error in judge_call(gold, TOOLS, response, dialect, engine_reads=False).errors]


@pytest.mark.parametrize("dialect", ["hermes", "bare"])
@pytest.mark.parametrize("name", ITEMS)
def test_gold_is_right_and_every_mutation_has_its_label(name: str, dialect: Dialect) -> None:
    gold = ITEMS[name]
    made = mutations(gold, TOOLS, dialect)
    if len(gold.calls) < 2 or dialect == "hermes":
        assert errors(gold, gold_completion(gold, dialect), dialect) == []
        assert made
    for mutation in made:
        assert errors(gold, mutation.raw, dialect) == [mutation.label], mutation


def test_mutations_cover_what_a_suite_must_show() -> None:
    labels = Counter(mutation.label for gold in ITEMS.values() for mutation in mutations(gold, TOOLS, "hermes"))
    wanted = {"float_drift", "key_case", "enum_case", "stringified", "missing_key", "extra_key", "call_order"}
    assert wanted | {"missing_call", "wrong_tool", "call_unneeded"} <= set(labels)
    assert sum(label.startswith("json_syntax.") for label in labels) == 24


def test_xml_golds_are_not_rendered() -> None:
    with pytest.raises(ValueError, match="qwen_xml"):
        completion(["{}"], "qwen_xml")
