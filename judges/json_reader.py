"""Strict JSON (RFC 8259): one value at an offset, numbers with their spelling kept.

The scanner is the standard library's; its hooks refuse what it would let pass: NaN and Infinity, a key that occurs
twice, and nesting deeper than `MAX_DEPTH`. An integer literal becomes an int, any other number a Decimal.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import NoReturn

from evalsets.records import Json

MAX_DEPTH = 100
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
WHITESPACE = re.compile(r"[ \t\n\r]*")

# The scanner counts the lines before each error it raises. In a text of many damages that would be quadratic: what
# begins no value is told here, and other errors are looked for in a window first.
_WINDOW = 512
_BEGINS = re.compile(r"\{[ \t\n\r]*[\"}]|\[[ \t\n\r]*[\[\]{\"\-0-9tfn]|[\"\-0-9tfn]")
_LONG_INTEGER = 1000  # digits; int() is quadratic and refuses 4,300 of them, Decimal is exact at any length
_MAX_EXPONENT = 1_000_000  # beyond it no gold is meant; Decimal itself refuses exponents of 19 digits


def number(literal: str) -> int | Decimal:
    """The exact value of a JSON number: an int where it is spelled as an integer of up to 1,000 digits."""
    if "." in literal or "e" in literal or "E" in literal:
        return _fraction(literal)
    return int(literal) if len(literal) <= _LONG_INTEGER else Decimal(literal)


def is_integer_literal(value: int | Decimal) -> bool:
    """Whether a number read by `number` was spelled as an integer: `12900`, not `12900.0` or `1e3`."""
    if isinstance(value, int):
        return True
    return value.as_tuple().exponent == 0 and len(value.as_tuple().digits) >= _LONG_INTEGER - 1


def decode(text: str, position: int) -> tuple[Json, int] | None:
    """The value that starts exactly at `position`, and the offset after it; None where there is no strict one."""
    if _BEGINS.match(text, position) is None:
        return None
    try:
        value, end = _near(text, position) or _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None
    if text.count("{", position, end) + text.count("[", position, end) > MAX_DEPTH and depth(value) > MAX_DEPTH:
        return None
    return value, end


def _near(text: str, position: int) -> tuple[Json, int] | None:
    """The value at `position` where it ends well within a window; None where the window cannot tell.

    Raises ValueError for an error that more text would not undo: no string left open, nothing cut at the window's end.
    """
    window = text[position : position + _WINDOW]
    if len(window) < _WINDOW:
        return None
    try:
        value, length = _DECODER.raw_decode(window)
    except json.JSONDecodeError as error:
        if error.pos > _WINDOW - 16 or error.msg.startswith("Unterminated"):
            return None
        raise
    return (value, position + length) if length < _WINDOW - 16 else None


def decode_whole(text: str) -> tuple[Json] | None:
    """The one value that the text consists of, white space aside, as a 1-tuple (it may be null); else None."""
    found = decode(text, skip(text, 0))
    if found is None or skip(text, found[1]) != len(text):
        return None
    return (found[0],)


def skip(text: str, position: int) -> int:
    """The offset of the first character from `position` on that is not JSON white space."""
    match = WHITESPACE.match(text, position)
    return match.end() if match else position


def depth(value: Json) -> int:
    """How deep arrays and objects are nested: 0 for a scalar."""
    deepest, level = 0, [value]
    while containers := [inner for inner in level if isinstance(inner, dict | list)]:
        deepest += 1
        level = [inner for outer in containers for inner in _children(outer)]
    return deepest


def _children(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _fraction(literal: str) -> Decimal:
    mantissa, _, exponent = literal.lower().partition("e")
    if len(exponent) < 7:
        return Decimal(literal)
    sign, digits = ("-", exponent[1:]) if exponent[0] == "-" else ("", exponent.lstrip("+"))
    digits = digits.lstrip("0") or "0"
    if Decimal(mantissa) == 0:
        return Decimal(0)
    bounded = digits if len(digits) < 7 else str(_MAX_EXPONENT)
    return Decimal(f"{mantissa}e{sign}{bounded}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _refuse_twins(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


_DECODER = json.JSONDecoder(
    parse_float=_fraction,
    parse_int=number,
    parse_constant=_refuse_constant,
    object_pairs_hook=_refuse_twins,
)
