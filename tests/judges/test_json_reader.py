"""The two readers: strict JSON as RFC 8259 has it, and the relaxed one that agrees with it where nothing is wrong."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import Json
from judges.damage import Stuck
from judges.json_reader import MAX_DEPTH, decode, decode_whole, depth, is_integer_literal, number
from judges.relaxed_reader import RelaxedReader

SCALARS = st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def written(value: Any) -> str:
    """JSON text of a value, decimals as number literals."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}: {written(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " , ".join(written(inner) for inner in value) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


@given(VALUES)
def test_reads_what_the_standard_library_reads(value: Any) -> None:
    text = written(value)
    expected = json.loads(text, parse_float=Decimal)
    assert decode_whole(f" {text}\n") == (expected,)
    reader = RelaxedReader(text)
    assert reader.value() == expected
    assert (reader.position, reader.found) == (len(text), [])


@given(st.text(alphabet='{}[]",: 0123456789.eE-+truefalsn\\\n'))
def test_accepts_nothing_that_the_standard_library_refuses(text: str) -> None:
    found = decode_whole(text)
    if found is not None:
        assert found == (json.loads(text, parse_float=Decimal),)
    reader = RelaxedReader(text)
    try:
        reader.value()
    except Stuck:
        assert found is None
    else:
        assert found is not None or reader.found or text[reader.position :].strip()


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "[Infinity]",
        "-Infinity",
        '{"a": 1, "a": 2}',
        '{"a": 1,}',
        "[01]",
        '"a\nb"',
        "１２",
        "1 2",
        "",
        "'a'",
        '{"a": tru',
        "[" * 2000,
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
    ],
)
def test_refuses(text: str) -> None:
    assert decode_whole(text) is None


def test_numbers_keep_their_spelling() -> None:
    assert decode("[12900, 12900.0, 1e3, -0.0]", 0) == (
        [12900, Decimal("12900.0"), Decimal("1e3"), Decimal("-0.0")],
        27,
    )
    assert [is_integer_literal(number(text)) for text in ("12900", "12900.0", "1e3", "12e0")] == [
        True,
        False,
        False,
        False,
    ]
    assert str(number("12900.00")) == "12900.00"


def test_numbers_of_any_length_and_size_are_read() -> None:
    digits = "9" * 20_000
    assert number(digits) == Decimal(digits) and is_integer_literal(number(digits))
    assert number("12e4567") == Decimal("12e4567")
    assert number("1e99999999999999999999") > Decimal("1e999999")
    assert number("-1e99999999999999999999") < 0
    assert 0 < number("1e-99999999999999999999") < Decimal("1e-999999")
    assert number("0.0e99999999999999999999") == 0


def test_depth() -> None:
    values: list[Json] = [1, [], [[1]], {"a": [{}]}]
    assert [depth(value) for value in values] == [0, 1, 2, 3]
