"""The tool-call suite, its toolsets and the calibration conversations: counts, valid golds, no overlap."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from rapidfuzz import fuzz
from referencing import Registry

from evalsets.items import CalibrationRow, Item, Message, QaItem, ToolItem, ToolsetFile
from evalsets.records import read_record, read_rows, unique_by_id

DATA = Path(__file__).parents[2] / "evalsets" / "data"
ITEMS = read_rows(DATA / "tool_calls.jsonl", ToolItem)
ROWS = read_rows(DATA / "calibration.jsonl", CalibrationRow)
FILE = read_record(DATA / "toolsets.json", ToolsetFile)
TOOLSETS = {toolset.name: {tool.function.name: tool.function for tool in toolset.tools} for toolset in FILE.toolsets}
CATEGORIES = {"single": 13, "similar": 11, "nested": 7, "parallel": 3, "dependent": 2, "multi_turn": 5, "no_call": 7}
TAGS_AT_LEAST = {"money": 19, "enum": 16, "camel": 16, "id": 14, "date": 7, "special": 6}
GOLDS = [pytest.param(item.toolset, call, id=f"{item.id}-{call.name}") for item in ITEMS for call in item.calls]
MESSAGES: list[tuple[str, str | None, Message]] = [(x.id, x.toolset, m) for x in ITEMS for m in x.messages]
MESSAGES += [(x.id, x.toolset, m) for x in ROWS for m in x.messages]
SHINGLE = 16  # characters without white space; shorter runs are everyday phrases


def _decimals(value: Any) -> Any:
    """The schema with its floats as the decimals that were written: 19.99 is no multiple of the float 0.01."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {key: _decimals(inner) for key, inner in value.items()}
    return [_decimals(inner) for inner in value] if isinstance(value, list) else value


def _valid(toolset: str, name: str, arguments: Any) -> bool:
    schema = _decimals(TOOLSETS[toolset][name].parameters)
    return Draft202012Validator(schema, registry=Registry(), format_checker=FormatChecker()).is_valid(arguments)


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    yield from [schema] if isinstance(schema, dict) else []
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []:
        yield from _objects(inner)


def _texts(rows: Sequence[Item | CalibrationRow]) -> list[str]:
    return [m.content for row in rows for m in row.messages if m.content and m.role in ("user", "assistant")]


def _shingles(texts: list[str]) -> set[str]:
    packed = ["".join(text.split()) for text in texts]
    return {text[i : i + SHINGLE] for text in packed for i in range(max(1, len(text) - SHINGLE + 1))}


def test_counts_and_expectations_are_as_declared() -> None:
    assert [item.id for item in ITEMS] == [f"tc-{n:04d}" for n in range(1, 49)]
    assert Counter(item.tags[0] for item in ITEMS) == CATEGORIES
    tags = Counter(tag for item in ITEMS for tag in item.tags)
    assert {tag: tags[tag] for tag, least in TAGS_AT_LEAST.items() if tags[tag] < least} == {}
    assert Counter(item.lang for item in ITEMS) == {"zh": 34, "en": 14} and sum(item.must_pass for item in ITEMS) == 8
    assert all((item.domain, item.split, item.cluster) == ("tools", "release", item.toolset) for item in ITEMS)
    assert len(sizes := Counter(item.toolset for item in ITEMS)) >= 12 and max(sizes.values()) <= 4
    assert all((item.expect == "call") == bool(item.calls) == (item.tags[0] != "no_call") for item in ITEMS)
    assert {item.tags[0] for item in ITEMS if len(item.calls) > 1} == {"parallel", "dependent"}
    assert all((item.order == "strict") == (item.tags[0] == "dependent") for item in ITEMS)


def test_toolsets_are_closed_and_self_contained() -> None:
    assert len(TOOLSETS) == len(FILE.toolsets) >= 14
    assert {toolset for _, toolset, _ in MESSAGES if toolset} <= TOOLSETS.keys()
    for toolset in FILE.toolsets:
        assert 3 <= len(toolset.tools) == len(TOOLSETS[toolset.name]) <= 5, toolset.name
        for tool in toolset.tools:
            Draft202012Validator.check_schema(tool.function.parameters)
            for part in _objects(tool.function.parameters):
                assert str(part.get("$ref", "#")).startswith("#"), tool.function.name
                if part.get("type") == "object":
                    assert part["additionalProperties"] is False and set(part["required"]) <= part["properties"].keys()


@pytest.mark.parametrize(("toolset", "call"), GOLDS)
def test_every_gold_is_valid(toolset: str, call: Any) -> None:
    first = {key: argument.any_of[0] for key, argument in call.args.items()}
    assert _valid(toolset, call.name, first)
    for key, argument in call.args.items():
        assert all(_valid(toolset, call.name, first | {key: value}) for value in argument.any_of), key
    assert _valid(toolset, call.name, {key: value for key, value in first.items() if not call.args[key].omit_ok})


def test_calls_inside_conversations_are_valid() -> None:
    calls = [(where, toolset, call.function) for where, toolset, m in MESSAGES for call in m.tool_calls or []]
    for where, toolset, call in calls:
        assert _valid(str(toolset), call.name, json.loads(call.arguments, parse_float=Decimal)), where


def test_calibration_ends_with_the_assistant_and_uses_its_tools() -> None:
    assert Counter(row.lang for row in ROWS) == {"zh": 24, "en": 16} and sum(bool(row.toolset) for row in ROWS) == 20
    assert len(unique_by_id(ROWS, "id", "calibration")) == 40 and {r.messages[-1].role for r in ROWS} == {"assistant"}
    assert all(any(m.tool_calls for m in row.messages) == bool(row.toolset) for row in ROWS)


def test_no_two_prompts_are_near_identical() -> None:
    prompts = [(item.id, "\n".join(m.content or "" for m in item.messages if m.role == "user")) for item in ITEMS]
    assert [(a, b) for (a, x), (b, y) in itertools.combinations(prompts, 2) if fuzz.ratio(x, y) >= 60] == []


def test_calibration_shares_no_text_or_number_with_the_suites() -> None:
    suite, seen = _texts([*ITEMS, *read_rows(DATA / "qa.jsonl", QaItem)]), _texts(ROWS)
    assert _shingles(suite) & _shingles(seen) == set()
    assert set(re.findall(r"\d{5,}", "\n".join(suite))) & set(re.findall(r"\d{5,}", "\n".join(seen))) == set()
