"""Variants of every family, with all the errors each must have and whether the tolerant verdict passes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judges.cases import judge_case, read_line

DATA = Path(__file__).parent / "data"
TOOLS = json.loads((DATA / "variant_tools.json").read_text("utf-8"))
VARIANTS = [read_line(line) for line in (DATA / "variants.jsonl").read_text("utf-8").split("\n") if line]
TOOL_SCHEMA = [{"name": name, "parameters": parameters} for name, parameters in TOOLS.items()]


def calls(pairs: list[Any]) -> list[dict[str, Any]]:
    return [{"name": name, "arguments": arguments} for name, arguments in pairs]


@pytest.mark.parametrize("about", sorted({row["about"] for row in VARIANTS}))
def test_variants(about: str) -> None:
    for row in (row for row in VARIANTS if row["about"] == about):
        case = {
            "tool_schema": TOOL_SCHEMA,
            "expected": calls(row["wanted"]),
            "raw": row["raw"],
            "form": row["form"],
            "called_name": row.get("called"),
            "finish_reason": row.get("finish_reason"),
        }
        verdict = judge_case(case)
        assert [error.kind for error in verdict.errors] == row["kinds"], row
        assert verdict.tolerant_ok == row["tolerant"], row
        assert verdict.strict_ok == (not row["kinds"]), row


NUMBERS = [
    ("3791411052119578828", "3791411052119578829", "precision_loss"),
    ("9007199254740993", "9007199254740992", "precision_loss"),
    ("1e30", "1000000000000000019884624838656", "precision_loss"),
    ("9007199254740991", "9007199254740990", "value_wrong"),
    ("9007199254740993", "900719925474099", "lost_digits"),
    ("123456789012345678", "1234567890123456780", "value_wrong"),
    ("12", "1", "lost_digits"),
    ("12", "21", "value_wrong"),
    ("12900", "129", "lost_digits"),
    ("12900", "12", "value_wrong"),
    ("12900", "1290.5", "value_wrong"),
    ("12900", "12900129001290012900129001290", "runaway_digits"),
    ("12900", "129001290012900129001290", "value_wrong"),
    ("7", "-7", "value_wrong"),
    ("129000000", "129000100", "value_wrong"),
    ("5", "5.0000000001", "float_drift"),
    ("5", "5.00001", "value_wrong"),
    ("12900", "12900.0000001", "float_drift"),
    ("0.3", "0.30000000000000004", "float_drift"),
    ("0.7", "0.699999988079071", "float_drift"),
    ("19.99", "1.99", "lost_digits"),
    ("19.99", "19.9", "lost_digits"),
    ("19.99", "1999", "value_wrong"),
    ("0", "1e-10", "float_drift"),
    ("0", "-0.0", None),
    ("12900", "1.29e4", None),
    ("12900.5", "12900.50", None),
    ("5", "1e999999999999999999999", "value_wrong"),
    ("5", "0e999999999999999999999", "value_wrong"),
]


@pytest.mark.parametrize(("gold", "got", "label"), NUMBERS)
def test_numbers_compare_by_their_literals(gold: str, got: str, label: str | None) -> None:
    case = read_line(
        '{"tool_schema": [{"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}}],'
        f'"expected": [{{"name": "f", "arguments": {{"x": {gold}}}}}], "form": "arguments", "called_name": "f"}}'
    )
    assert judge_case({**case, "raw": f'{{"x": {got}}}'}).primary == label


A, B, C = ["w", {"city": "A"}], ["w", {"city": "B"}], ["w", {"city": "C"}]
ORDER = ["get_order", {"orderNo": "SO-1"}]
# made, wanted, order, errors as (label, path)
CALL_SETS = [
    ([B, A], [A, B], "any", []),
    ([B, A], [A, B], "strict", [("call_order", "")]),
    ([A], [A, B], "any", [("missing_call", "")]),
    ([A, A], [A, B], "any", [("value_wrong", "/1/arguments/city")]),
    ([A, B, A], [A, B], "any", [("duplicate_call", "/2")]),
    ([A, B, C], [A, B], "any", [("extra_call", "/2")]),
    ([], [A, B], "any", [("no_call", "")]),
    ([C, B], [A, B], "any", [("value_wrong", "/0/arguments/city")]),
    ([ORDER, A], [A, B], "any", [("wrong_tool", "/0/name")]),
    ([A, ORDER], [ORDER, A], "strict", [("call_order", "")]),
    ([A, ["nope", {}]], [A, B], "any", [("hallucinated_tool", "/1/name")]),
    ([["W", {"city": "B"}], A], [A, B], "any", [("tool_name_case", "/0/name")]),
    ([A, ["nope", {}]], [A], "any", [("extra_call", "/1"), ("hallucinated_tool", "/1/name")]),
    ([A, A], [A], "any", [("duplicate_call", "/1")]),
    ([["w", {"town": "A"}], B], [A, B], "any", [("key_renamed", "/0/arguments/town")]),
    ([["w", {}], B], [A, B], "any", [("missing_key", "/0/arguments/city")]),
    ([["t", {"b": True}], ["t", {"b": 1}]], [["t", {"b": True}]], "any", [("extra_call", "/1")]),
    ([["t", {"n": 1}], ["t", {"n": 1.0}]], [["t", {"n": 1}]], "any", [("duplicate_call", "/1")]),
    ([A, B, C], [C, B, A], "any", []),
    ([A, B, C], [C, B, A], "strict", [("call_order", "")]),
]


@pytest.mark.parametrize(("made", "wanted", "order", "errors"), CALL_SETS)
def test_call_sets_are_matched_optimally(
    made: list[Any], wanted: list[Any], order: str, errors: list[tuple[str, str]]
) -> None:
    raw = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in made]
    case = {
        "tool_schema": TOOL_SCHEMA,
        "expected": calls(wanted),
        "raw": raw,
        "form": "tool_calls",
        "call_order": order,
    }
    assert [(error.kind, error.path) for error in judge_case(case).errors] == errors
