"""The rules for numbers, keys, types, enums, strings and dates: a case on either side of each definition, as data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import Json
from judges.cases import judge_case, read_line
from judges.schema import Place
from judges.values import best_match, compare_object

ROWS = [
    read_line(line) for line in (Path(__file__).parent / "data" / "rules.jsonl").read_text("utf-8").split("\n") if line
]


def errors(row: Mapping[str, Any]) -> tuple[list[str], bool]:
    """The labels that the arguments `got` get where `gold` is wanted, and whether the tolerant verdict passes them."""
    parameters = {"type": "object", "properties": row["properties"], "required": row.get("required", [])}
    verdict = judge_case(
        {
            "tool_schema": [{"name": "f", "parameters": parameters}],
            "expected": [{"name": "f", "arguments": row["gold"]}],
            "raw": row["got"],
            "form": "arguments",
            "called_name": "f",
        }
    )
    return [error.kind for error in verdict.errors], verdict.tolerant_ok


@pytest.mark.parametrize("about", sorted({row["about"] for row in ROWS}))
def test_rules(about: str) -> None:
    for row in (row for row in ROWS if row["about"] == about):
        assert errors(row) == (row["kinds"], row["tolerant"]), row


INTEGERS = {"type": "array", "items": {"type": "integer"}}
OBJECT: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}, "n": {"type": ["string", "null"]}}}
# schema, accepted values, what was given, labels, the accepted value that explains it
ACCEPTED: list[tuple[dict[str, Any], str, str, list[str], str]] = [
    ({"type": "integer"}, "[3, 5]", "5", [], ""),
    ({"type": "integer"}, "[3, 5]", "5.0", ["int_as_float"], "5"),
    ({}, '["xyz", "uvw"]', '"abc"', ["value_wrong"], '"xyz"'),
    ({}, '["xyz", 5]', '"abc"', ["type_error"], "5"),
    ({}, '[5, "xyz"]', '"abc"', ["type_error"], "5"),
    ({}, '[5, "SO-20240017"]', '"SO-20240018"', ["id_drift"], '"SO-20240017"'),
    ({}, '["SO-20240017", 5]', '"SO-20240018"', ["id_drift"], '"SO-20240017"'),
    ({}, '["SO-20240016", "SO-20240017"]', '"SO-20240018"', ["id_drift"], '"SO-20240016"'),
    ({}, '[["SO-20240017", "xyz"], [5, 6]]', '["SO-20240018", "abc"]', ["id_drift", "value_wrong"], '"SO-20240017"'),
    ({}, '[[5, 6], ["SO-20240017", "xyz"]]', '["SO-20240018", "abc"]', ["type_error", "type_error"], "5"),
    ({}, '[["SO-20240017", "SO-20240017"], "x"]', '["SO-20240018", "SO-20240018"]', ["type_error"], '"x"'),
    (INTEGERS, "[[1, 2, 3.0000001], [1, 2, 3]]", "[1.0, 2.0, 3.0]", ["int_as_float"] * 3, "1"),
    (OBJECT, '[{"a": 1}, {"a": 1, "n": null}]', '{"a": 1.0, "n": null}', ["int_as_float"], "1"),
    (OBJECT, '[{"a": 1, "n": null}, {"a": 1}]', '{"a": 1.0, "n": null}', ["int_as_float"], "1"),
]


@pytest.mark.parametrize(("schema", "accepted", "got", "kinds", "expected"), ACCEPTED)
def test_the_nearest_accepted_value_explains(
    schema: dict[str, Any], accepted: str, got: str, kinds: list[str], expected: str
) -> None:
    row = read_line(f'{{"accepted": {accepted}, "got": {got}}}')
    findings = best_match(row["accepted"], row["got"], Place(schema, schema), ("x",))
    assert [finding.kind for finding in findings] == kinds
    assert [finding.expected for finding in findings][:1] == ([expected] if kinds else [])


# accepted values, keys that may lack, what was given, (label, expected)
OPTIONAL: list[tuple[dict[str, list[Json]], set[str], dict[str, Json], list[tuple[str, str]]]] = [
    ({"a": [1]}, {"a"}, {}, []),
    ({"a": [1, 2]}, set(), {}, [("missing_key", "1")]),
    ({"a": [1]}, {"a"}, {"a": None}, [("null_vs_absent", "absent")]),
    ({"a": [1, None]}, {"a"}, {"a": None}, []),
    ({"a": [1]}, {"a"}, {"a": 2}, [("value_wrong", "1")]),
    ({"a": [1]}, {"a"}, {"A": 1}, [("key_case", "a")]),
    ({"a": [3, 1]}, {"a"}, {"b": 1}, [("key_renamed", "a")]),
    ({"a": [1], "n": ["x"]}, {"n"}, {}, [("missing_key", "1")]),
    ({"d": [3, 7]}, set(), {}, []),
    ({"d": [3]}, set(), {}, [("missing_key", "3")]),
    ({"d": [3]}, set(), {"d": None}, [("type_error", "3")]),
]


@pytest.mark.parametrize(("wanted", "optional", "got", "errors"), OPTIONAL)
def test_arguments_that_may_lack(
    wanted: dict[str, list[Json]], optional: set[str], got: dict[str, Json], errors: list[tuple[str, str]]
) -> None:
    schema = {"properties": {**OBJECT["properties"], "d": {"type": "integer", "default": 7}}}
    findings = compare_object(wanted, optional, got, Place(schema, schema), ())
    assert [(finding.kind, finding.expected) for finding in findings] == errors
