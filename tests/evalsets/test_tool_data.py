"""Tool-call items, toolsets and calibration as data, beyond what the lint holds any suite to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry

from evalsets.items import CalibrationRow, Message, ToolItem, ToolsetFile
from evalsets.records import read_record, read_rows

DATA = Path(__file__).parents[2] / "evalsets" / "data"
ITEMS = [*read_rows(DATA / "tool_calls.jsonl", ToolItem), *read_rows(DATA / "dev" / "tool_calls.jsonl", ToolItem)]
ROWS = read_rows(DATA / "calibration.jsonl", CalibrationRow)
FILE = read_record(DATA / "toolsets.json", ToolsetFile)
TOOLSETS = {toolset.name: {tool.function.name: tool.function for tool in toolset.tools} for toolset in FILE.toolsets}
MESSAGES: list[tuple[str, str | None, Message]] = [(x.id, x.toolset, m) for x in ITEMS for m in x.messages]
MESSAGES += [(x.id, x.toolset, m) for x in ROWS for m in x.messages]


def _decimals(value: Any) -> Any:
    """The schema with its floats as the decimals that were written: 19.99 is no multiple of the float 0.01."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {key: _decimals(inner) for key, inner in value.items()}
    return [_decimals(inner) for inner in value] if isinstance(value, list) else value


VALIDATORS = {
    (name, function): Draft202012Validator(
        _decimals(tool.parameters), registry=Registry(), format_checker=FormatChecker()
    )
    for name, tools in TOOLSETS.items()
    for function, tool in tools.items()
}


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    yield from [schema] if isinstance(schema, dict) else []
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []:
        yield from _objects(inner)


def test_each_item_has_the_calls_of_its_category() -> None:
    for item in ITEMS:
        assert (item.domain, item.cluster) == ("tools", item.toolset), item.id
        assert (item.expect == "call") == bool(item.calls) == (item.tags[0] != "no_call"), item.id
        assert (len(item.calls) > 1) == (item.tags[0] in ("parallel", "dependent")), item.id
        assert (item.order == "strict") == (item.tags[0] == "dependent"), item.id
        assert not item.must_pass or item.calls, item.id


def test_toolsets_are_closed_and_used() -> None:
    assert {toolset for _, toolset, _ in MESSAGES if toolset} == TOOLSETS.keys()
    for toolset in FILE.toolsets:
        for tool in toolset.tools:
            Draft202012Validator.check_schema(tool.function.parameters)
            for part in _objects(tool.function.parameters):
                if part.get("type") == "object":
                    assert part["additionalProperties"] is False, tool.function.name
                    assert set(part["required"]) <= part["properties"].keys(), tool.function.name


def test_every_gold_is_valid() -> None:
    for item in ITEMS:
        for call in item.calls:
            validator = VALIDATORS[item.toolset, call.name]
            first = {key: argument.any_of[0] for key, argument in call.args.items()}
            short = {key: value for key, value in first.items() if not call.args[key].omit_ok}
            others = [first | {key: value} for key, argument in call.args.items() for value in argument.any_of]
            assert all(validator.is_valid(arguments) for arguments in [first, short, *others]), item.id


def test_calls_inside_conversations_are_valid() -> None:
    for where, toolset, message in MESSAGES:
        for call in message.tool_calls or []:
            arguments = json.loads(call.function.arguments, parse_float=Decimal)
            assert VALIDATORS[str(toolset), call.function.name].is_valid(arguments), where


def test_calibration_ends_with_the_assistant_and_uses_its_tools() -> None:
    assert {row.messages[-1].role for row in ROWS} == {"assistant"}
    assert all(any(m.tool_calls for m in row.messages) == bool(row.toolset) for row in ROWS)
    assert 0.4 <= sum(row.toolset is not None for row in ROWS) / len(ROWS) <= 0.6
    assert 0.6 <= sum(row.lang == "zh" for row in ROWS) / len(ROWS) <= 0.75


def test_dev_and_calibration_toolsets_are_not_the_releases() -> None:
    release = {item.toolset for item in ITEMS if item.split == "release"}
    dev = {item.toolset for item in ITEMS if item.split == "dev"}
    assert not release & dev
    assert all(row.toolset is None or row.toolset not in dev for row in ROWS)
