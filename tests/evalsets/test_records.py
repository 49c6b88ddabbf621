"""Records: atomic, strict, and with errors that name file, line and key."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.items import Function, GoldArgument
from evalsets.records import (
    InputError,
    Record,
    canonical_json,
    digest,
    read_record,
    read_rows,
    unique_by_id,
    write_atomic,
    write_record,
    write_rows,
)


class Row(Record):
    id: str
    value: float = 0.0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "a", "valeu": 1}', "unknown key valeu; allowed: id, value"),
        ('{"id": "a", "value": NaN}', "NaN is not a JSON number"),
        ('{"id": "a", "value": Infinity}', "Infinity is not a JSON number"),
        ('{"id": "a", "id": "b"}', "a key twice"),
        ('{"id": "a"', "not JSON"),
        ("", "not JSON"),
        ('{"value": 1}', "id: Field required"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_line_names_file_and_line(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"id": "first"}}\n{line}\n{{"id": "third"}}\n')
    with pytest.raises(InputError) as error:
        read_rows(path, Row)
    assert f"{path}:2" in str(error.value)
    assert says in str(error.value)


def test_a_missing_file_and_foreign_bytes_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_rows(tmp_path / "none.jsonl", Row)
    (tmp_path / "latin.json").write_bytes(b'{"id": "\xff"}')
    with pytest.raises(InputError, match="not UTF-8 at byte 8"):
        read_record(tmp_path / "latin.json", Row)


def test_twins_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than once: a, b"):
        unique_by_id([Row(id=name) for name in "abacb"], "id", "suite")


@given(st.lists(st.builds(Row, id=st.text(), value=st.floats(allow_nan=False, allow_infinity=False))))
def test_rows_survive_a_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_rows(path, rows)
    assert read_rows(path, Row) == rows
    assert len(path.read_bytes().split(b"\n")) == len(rows) + 1


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record.json"
    write_record(path, Row(id="old"))

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomic(path, b"new")
    assert read_record(path, Row) == Row(id="old")
    assert list(tmp_path.iterdir()) == [path]


def test_the_digest_does_not_depend_on_key_order() -> None:
    assert digest({"b": 1, "a": [True, None, "é"]}) == digest({"a": [True, None, "é"], "b": 1})
    assert canonical_json({"b": 1, "a": "款"}) == '{"a":"款","b":1}'.encode()


def test_gold_keeps_a_number_as_it_is_spelled(tmp_path: Path) -> None:
    path = tmp_path / "gold.json"
    path.write_text('{"any_of": [12900.00, 12900, true, "12900", {"a": [0.10]}]}')
    values = read_record(path, GoldArgument).any_of
    assert [type(value) for value in values] == [Decimal, int, bool, str, dict]
    assert str(values[0]) == "12900.00"


def test_schemas_reach_the_engine_with_plain_numbers(tmp_path: Path) -> None:
    path = tmp_path / "function.json"
    path.write_text('{"name": "pay", "description": "", "parameters": {"multipleOf": 0.01, "maximum": 100}}')
    parameters = read_record(path, Function).parameters
    assert parameters == {"multipleOf": 0.01, "maximum": 100}
    assert isinstance(parameters["multipleOf"], float)
