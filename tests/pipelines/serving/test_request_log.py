"""The request log: one schema, read alike from JSONL and Parquet, bad rows named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsets.records import InputError
from pipelines.serving.request_log import LogSource, read_log
from tests.pipelines.serving.serving_material import generated, make_tool

ROW: dict[str, Any] = {
    "time": "2026-03-05T14:05:00Z",
    "tenant": "t1",
    "scene": "qa",
    "session": "s1",
    "turn": 1,
    "messages": [{"role": "user", "content": "退款？"}],
    "output_tokens": 3,
}


def written(folder: Path, *rows: dict[str, Any] | str) -> LogSource:
    path = folder / "log.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")
    return LogSource(str(path))


def test_a_generated_log_reads_back_as_it_was_written(tmp_path: Path) -> None:
    rows = generated(60, shuffle=frozenset({"tools", "keys"}))
    path = tmp_path / "log.jsonl"
    path.write_text("".join(row.model_dump_json(exclude_none=True) + "\n" for row in rows), "utf-8")
    back = list(read_log(LogSource(str(path))))
    assert back == rows
    # Equal is not enough: the order of keys decides what a cache sees.
    assert [json.dumps(row.tools) for row in back] == [json.dumps(row.tools) for row in rows]


@pytest.mark.parametrize("messages", ["to_json(messages)", "messages"], ids=["JSON text", "nested"])
def test_parquet_reads_as_jsonl_does(tmp_path: Path, messages: str) -> None:
    tools = [make_tool("b"), make_tool("a")]
    source = written(tmp_path, ROW | {"tools": tools}, ROW | {"turn": 2, "tools": tools})
    parquet = tmp_path / "log.parquet"
    duckdb.sql(
        f"COPY (SELECT * REPLACE (CAST(time AS TIMESTAMPTZ) AS time, {messages} AS messages) "
        f"FROM read_json('{source.place}')) TO '{parquet}'"
    )
    assert list(read_log(LogSource(str(parquet)))) == list(read_log(source))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [({}, None), ({"tools": None}, None), ({"tools": "notices"}, "notices"), ({"tools": [{"a": 1.5}]}, [{"a": 1.5}])],
)
def test_tools_may_be_missing_named_or_written_out(tmp_path: Path, given: dict[str, Any], wanted: object) -> None:
    (row,) = read_log(written(tmp_path, ROW | given | {"further": "column"}))
    assert row.tools == wanted


def test_times_become_utc(tmp_path: Path) -> None:
    (row,) = read_log(written(tmp_path, ROW | {"time": "2026-03-05T22:05:00+08:00"}))
    assert row.time == datetime(2026, 3, 5, 14, 5, tzinfo=UTC)
    assert row.time.tzinfo == UTC


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (ROW | {"turn": 0}, r"row 2: turn: .*greater than or equal to 1"),
        (ROW | {"output_tokens": -1}, r"row 2: output_tokens"),
        (ROW | {"time": "2026-03-05T14:05:00"}, r"row 2: time: .*timezone"),
        (ROW | {"messages": "hello"}, r"row 2: messages: .*list"),
        (ROW | {"messages": []}, r"row 2: messages: .*at least 1"),
        ({key: value for key, value in ROW.items() if key != "tenant"}, r"row 2: tenant: Field required"),
        (ROW | {"turn": "first"}, r"not readable as a request log: .*line 2"),
        ('{"time": 1', r"not readable as a request log: .*Malformed JSON"),
    ],
)
def test_a_bad_row_is_named_and_not_skipped(tmp_path: Path, bad: dict[str, Any] | str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_log(written(tmp_path, ROW, bad)))


def test_a_parquet_log_without_a_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    duckdb.sql(f"COPY (SELECT 'x' AS tenant, 'qa' AS scene) TO '{path}'")
    with pytest.raises(InputError, match="no column time, session, turn, messages, output_tokens"):
        list(read_log(LogSource(str(path))))


@pytest.mark.parametrize(
    ("place", "table", "message"),
    [
        ("missing.jsonl", None, "no such log"),
        ("log.csv", None, ".csv is no log format"),
        ("postgresql://me:hush@db/logs", None, "--table"),
    ],
)
def test_a_place_that_is_no_log_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, table: str | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text("time\n")
    with pytest.raises(InputError, match=message) as caught:
        list(read_log(LogSource(place, table)))
    assert "hush" not in str(caught.value)


def test_postgresql_without_its_extension_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # where DuckDB looks for extensions
    with pytest.raises(InputError, match=r"INSTALL postgres.*export the table to Parquet") as caught:
        list(read_log(LogSource("postgresql://me:hush@db/logs", "public.requests")))
    assert "hush" not in str(caught.value)
