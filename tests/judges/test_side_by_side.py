"""The rows that two checkers are asked about: each is what it says, and docs/side-by-side.md has their counts."""

from __future__ import annotations

import json
import re

import pytest

from tests.judges.side_by_side import ROOT, Count, counts, seen, suite_rows, tables, written

ROWS, TOOLS = suite_rows()
LINES = counts(ROWS, TOOLS)
PAGE = (ROOT / "docs" / "side-by-side.md").read_text("utf-8")
CLASSES = {
    "key_case",
    "extra_key",
    "stringified",
    "enum_case",
    "float_drift",
    "id_drift, letter case",
    "id_drift, separators left out",
    "id_drift, two characters swapped",
    "call_order",
    "call_unneeded, malformed",
    "call_unneeded, well-formed",
    "json_syntax.trailing_comma",
    "json_syntax.missing_brace",
    "json_syntax.bracket_order",
    "json_syntax.unescaped_quote",
    "json_syntax.duplicate_key",
    "the gold",
    "arguments in another order",
    "a number with more zeros",
    "a default given",
    "parallel calls in another order",
    "no call",
}


def test_every_class_has_rows() -> None:
    assert {line.kind for line in LINES} >= CLASSES
    assert not {row.kind for row in ROWS if row.label} & {row.kind for row in ROWS if not row.label}


def test_the_judge_gives_every_row_its_label() -> None:
    missed = [(row.item.id, row.kind, row.raw) for row in ROWS if not seen(row, TOOLS[row.item.toolset])]
    assert not missed


def test_malformed_attempts_do_not_hold_a_json_call_in_tags() -> None:
    for row in ROWS:
        if row.kind == "call_unneeded, malformed":
            (inside,) = re.findall(r"<tool_call>\n(.*)\n</tool_call>", row.raw)
            with pytest.raises(ValueError, match=r"twice|JSON|delimiter|Expecting|Extra"):
                json.loads(inside, object_pairs_hook=_refuse_twins)


def _refuse_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def test_the_page_has_the_classes_and_counts_of_this_code() -> None:
    shown = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)
    on_page = [Count(kind, int(rows), int(ours)) for kind, rows, ours in shown]
    assert on_page == LINES, "docs/side-by-side.md is out of date: put in what `make side-by-side` prints"
    assert f"; {len(ROWS)} rows" in PAGE


def test_the_page_names_the_pinned_version() -> None:
    (pinned,) = re.findall(r"^bfcl-eval==(\S+)", (ROOT / "envs" / "bfcl.txt").read_text("utf-8"), re.MULTILINE)
    assert f"bfcl-eval {pinned}, " in PAGE


def test_what_the_other_checker_cannot_express_is_no_miss() -> None:
    rows = [row for row in ROWS if row.kind in ("key_case", "call_order", "the gold")]
    said = [{"accepted": True, "error": ""} for _ in rows]
    said[0] = {"accepted": None, "error": "not expressible: type []"}
    said[1] = {"accepted": False, "error": "parallel_function_checker_no_order:wrong_count"}
    first, order, gold = (line for line in tables(rows, counts(rows, TOOLS), said) if re.search(r"\d", line))
    assert f"| 1 of {counts(rows, TOOLS)[0].rows - 1} it can express | `wrong_count` 1 |" in first
    assert "cannot ask for an order" in order
    assert gold.split(" | ")[3] == gold.split(" | ")[1]


def test_rows_are_written_as_plain_json() -> None:
    asked = json.loads(json.dumps(written(ROWS, TOOLS), allow_nan=False))
    assert [row["raw"] for row in asked] == [row.raw for row in ROWS]
    number = next(row for row in asked if row["id"].startswith("tc-0017/"))
    assert number["calls"][0]["args"]["amount"]["any_of"] == [1288.6]
