"""Complaint counts are read strictly: every bad line is named by its number, and all of them at once."""

from __future__ import annotations

import json

import pytest

from evalsets.records import InputError
from registry.release.complaints import COLUMNS, Kind, parse_counts

HEADER = ",".join(COLUMNS)
# text after the header -> what is said of which line
BAD_CSV = {
    "negative": ("2026-03-01,bf16,10,-1", ":2: complaints: Value error, '-1' is not a whole number"),
    "more complaints than sessions": ("2026-03-01,bf16,10,11", ":2: (top level): Value error, 11 complaints on 10"),
    "fraction": ("2026-03-01,bf16,10.0,1", ":2: sessions: Value error, '10.0' is not"),
    "NaN": ("2026-03-01,bf16,10,NaN", ":2: complaints: Value error, 'NaN' is not"),
    "empty": ("2026-03-01,bf16,10,", ":2: complaints: Value error, '' is not"),
    "spaces": ("2026-03-01,bf16, 10,1", ":2: sessions: Value error, ' 10' is not"),
    "other digits": ("2026-03-01,bf16,１０,1", ":2: sessions: Value error, '１０' is not"),
    "too large": ("2026-03-01,bf16,9999999999999,1", ":2: sessions: Value error, 9999999999999 is not"),
    "no such day": ("2026-02-30,bf16,10,1", ":2: window: Value error, day is out of range"),
    "other date": ("01.03.2026,bf16,10,1", ":2: window: Value error, '01.03.2026' is no date"),
    "no variant": ("2026-03-01,,10,1", ":2: variant: Value error, '' is empty"),
    "extra field": ("2026-03-01,bf16,10,1,7", ":2: 5 fields where 4 are wanted"),
    "blank line": ("\n2026-03-01,bf16,10,1", ":2: 0 fields"),
    "open quote": ('2026-03-01,"bf16,10,1', ":2: not CSV"),
    "twice": ("2026-03-01,bf16,10,1\n2026-03-01,bf16,10,1", ":3: bf16 in 2026-03-01 again, as in line 2"),
    "no baseline": ("2026-03-01,bf16,10,1\n2026-03-02,int4,10,1", ":3: no row of the baseline bf16 in 2026-03-02"),
    "mixed forms": (
        "2026-03-01,bf16,10,1\n2026-03-02T06:00,bf16,10,1",
        ":3: 2026-03-02T06:00 is a time without an off",
    ),
    "no rows": ("", ":1: no rows"),
}
GOOD_ROW = {"window": "2026-03-01", "variant": "bf16", "sessions": 10, "complaints": 1}
BAD_JSONL = {
    "unknown key": (json.dumps(GOOD_ROW | {"region": "eu"}), ":1: (top level): Value error, unknown key region"),
    "missing key": ('{"window": "2026-03-01", "variant": "bf16", "sessions": 10}', ":1: complaints: Field required"),
    "text": (json.dumps(GOOD_ROW | {"sessions": "10"}), ":1: sessions: Value error, '10' is not"),
    "true": (json.dumps(GOOD_ROW | {"complaints": True}), ":1: complaints: Value error, True is not"),
    "fraction": (json.dumps(GOOD_ROW | {"sessions": 10.0}), ":1: sessions: Value error, 10.0 is not"),
    "NaN": (json.dumps(GOOD_ROW | {"complaints": float("nan")}), ":1: not JSON (NaN is not a JSON number)"),
    "twice": ('{"window": "2026-03-01", "window": "2026-03-02"}', ":1: not JSON (a key is given twice)"),
    "list": ("[]", ":1: not an object"),
    "blank line": (json.dumps(GOOD_ROW) + "\n\n", ":2: not JSON"),
    "same moment": (
        json.dumps(GOOD_ROW | {"window": "2026-03-01T00:00Z"})
        + "\n"
        + json.dumps(GOOD_ROW | {"window": "2026-03-01T08:00+08:00"}),
        ":2: bf16 in 2026-03-01T08:00+08:00 again, as in line 1",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD_CSV.values(), ids=BAD_CSV.keys())
def test_a_bad_csv_line_is_refused_by_number(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_counts(f"{HEADER}\n{text}", "csv", "counts.csv", "bf16")
    assert f"counts.csv{message}" in str(refused.value)


@pytest.mark.parametrize(("text", "message"), BAD_JSONL.values(), ids=BAD_JSONL.keys())
def test_a_bad_jsonl_line_is_refused_by_number(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_counts(text, "jsonl", "counts.jsonl", "bf16")
    assert f"counts.jsonl{message}" in str(refused.value)


@pytest.mark.parametrize("columns", ["window,variant,sessions", HEADER + ",region", HEADER + ",sessions", "a,b,c,d"])
def test_other_columns_are_refused(columns: str) -> None:
    with pytest.raises(InputError, match=r"counts.csv:1: columns .*; wanted, each once: window, variant, sessions"):
        parse_counts(f"{columns}\n2026-03-01,bf16,10,1", "csv", "counts.csv", "bf16")


def test_all_bad_lines_are_listed_in_order() -> None:
    text = f"{HEADER}\n2026-03-02,int4,5,1\n2026-03-01,bf16,10,11\n2026-03-01,int4,x,-1\nx,bf16,1,1\n"
    with pytest.raises(InputError) as refused:
        parse_counts(text, "csv", "counts.csv", "bf16")
    found = [line.split(": ")[0].strip() for line in str(refused.value).splitlines()[1:]]
    assert found == ["counts.csv:2", "counts.csv:3", "counts.csv:4", "counts.csv:5"]
    assert "sessions: Value error, 'x'" in str(refused.value) and "complaints: Value error, '-1'" in str(refused.value)


def test_a_bad_baseline_row_is_not_also_called_missing() -> None:
    with pytest.raises(InputError, match=r"correct these lines \(1\)") as refused:
        parse_counts(f"{HEADER}\n2026-03-01,bf16,10,11\n2026-03-01,int4,5,1", "csv", "counts.csv", "bf16")
    assert "no row of the baseline" not in str(refused.value)


def test_windows_come_sorted_whatever_their_order_and_form() -> None:
    rows = ["variant,window,complaints,sessions", "int4,2026-03-02,1,5", "bf16,2026-03-02,2,9", "bf16,2026-03-01,0,0"]
    csv = "\ufeff" + "".join(f"{row}\r\n" for row in rows)
    expected = [("2026-03-01", "bf16", 0, 0), ("2026-03-02", "bf16", 9, 2), ("2026-03-02", "int4", 5, 1)]
    lines = [json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in reversed(expected)]
    forms: list[tuple[str, Kind]] = [(csv, "csv"), ("\n".join(lines), "jsonl"), ("\n".join([*lines, ""]), "jsonl")]
    for text, kind in forms:
        parsed = parse_counts(text, kind, "counts", "bf16")
        assert [tuple(row.model_dump().values()) for row in parsed] == expected


def test_offsets_are_sorted_by_the_moment_they_name() -> None:
    text = f"{HEADER}\n2026-03-01T02:00Z,bf16,2,0\n2026-03-01T09:00+08:00,bf16,1,0\n"
    assert [row.sessions for row in parse_counts(text, "csv", "counts", "bf16")] == [1, 2]
