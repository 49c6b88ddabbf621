"""What stands where a JSON value should stand and is none: its name, told from its spelling alone."""

from __future__ import annotations

import re

from judges.json_reader import NUMBER

SPECIAL_TOKEN = re.compile(r"<[|｜][^<>\n]{0,60}>")

_PYTHON_WORDS = {"True": True, "False": False, "None": None}
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("special_token", SPECIAL_TOKEN),
    ("nonfinite", re.compile(r"[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)),
    ("leading_zero", re.compile(r"-?0[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")),
    ("thousands_sep", re.compile(r"-?[0-9]{1,3}(?:[ ,_'’\u00a0\u202f，][0-9]{3})+(?:\.[0-9]+)?\Z")),
    ("python_literal", re.compile(r"[+-]?(?:[0-9]+\.|\.[0-9]+|[0-9]+(?:\.[0-9]+)?|0[xob][0-9a-fA-F]+)\Z")),
    ("fullwidth", re.compile(r"(?=.*[０-９])[-－0-9０-９.．]+\Z")),
    (
        "unit",
        re.compile(r"(?:[$€£¥￥]\s*-?[0-9][0-9.,]*|-?[0-9][0-9.,]*\s*(?:[%％‰$€£¥￥°]|[A-Za-z\u4e00-\u9fff]{1,10}))\Z"),
    ),
    ("literal_escape", re.compile(r"\\")),
    ("missing_quote", re.compile(r"[^\"]*\"\Z")),
)


def python_word(text: str) -> tuple[bool | None] | None:
    """The value of True, False or None as a 1-tuple; None for any other text."""
    return (_PYTHON_WORDS[text],) if text in _PYTHON_WORDS else None


def classify(text: str) -> str:
    """The `json_syntax` subtype of a bare text in a value's place; `not_json` where nothing or `...` stands there."""
    if text.strip(".…") == "":
        return "not_json"
    if text in _PYTHON_WORDS:
        return "python_literal"
    if SPECIAL_TOKEN.search(text):
        return "special_token"
    for kind, pattern in _PATTERNS:
        if pattern.match(text) and not (kind == "python_literal" and NUMBER.fullmatch(text)):
            return kind
    return "unquoted_value"
