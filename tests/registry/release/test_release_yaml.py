"""YAML that readers of 1.1 and of 1.2 take alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from registry.release.yaml_text import yaml_text

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_written_is_read(value: Any) -> None:
    assert yaml.safe_load(yaml_text({"value": value}, "a comment\nof two lines")) == {"value": value}


@pytest.mark.parametrize(
    "text",
    [
        "1e9",
        "12e3456",
        "0x1f",
        "0o17",
        "1_000",
        "1:30",
        "yes",
        "No",
        "ON",
        "y",
        "null",
        "~",
        "",
        "-",
        "=",
        ".inf",
        "2026-01-01",
    ],
)
def test_a_string_that_looks_like_something_else_is_quoted(text: str) -> None:
    assert yaml_text([text]) == f"- {json.dumps(text)}\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("awq-int4", "awq-int4"),
        ("客服", '"客服"'),
        ('a{b="c"}', "'a{b=\"c\"}'"),
        ('it\'s "x"', "'it''s \"x\"'"),
        ("a: b # c", '"a: b # c"'),
        ("{{ x }}", '"{{ x }}"'),
        ("a\nb", '"a\\nb"'),
    ],
)
def test_quotes_are_legible(text: str, written: str) -> None:
    assert yaml_text({"key": text}) == f"key: {written}\n"


def test_the_same_value_twice_is_written_twice() -> None:
    shared = {"a": 1}
    assert yaml_text({"one": shared, "two": shared}) == "one:\n  a: 1\ntwo:\n  a: 1\n"
