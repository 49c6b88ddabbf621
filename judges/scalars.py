"""How one number or string differs from the accepted one, given what the schema allows at its place."""

from __future__ import annotations

from decimal import Decimal

from evalsets.records import Json
from judges.findings import Finding, pointer, spell
from judges.json_reader import is_integer_literal
from judges.number_classes import Number, is_integral, number_class
from judges.schema import Place
from judges.string_classes import same_text, string_class

Path = tuple[str | int, ...]


def differs(kind: str, gold: Json, got: Json, path: Path, recovery: str = "") -> Finding:
    """The finding that `got` stands where `gold` is wanted."""
    return Finding(kind, pointer(*path), spell(gold), spell(got), recovery=recovery)


def compare_number(gold: Number, got: Number, place: Place, path: Path) -> list[Finding]:
    """A number against gold: equal by value, spelled as an integer where the schema wants one, or named."""
    types = place.types() if not is_integer_literal(got) else set()
    integer = "integer" in types and "number" not in types
    if gold == got:
        return [differs("int_as_float", gold, got, path, "integral_number")] if integer else []
    kind = number_class(gold, got)
    if kind is None and integer and not is_integral(got):
        kind = "type_error"
    if kind is None and place.choices() is not None and not is_choice(got, place):
        kind = "enum_invalid"
    return [differs(kind or "value_wrong", gold, got, path)]


def compare_string(gold: str, got: str, place: Place, path: Path) -> list[Finding]:
    """A string against gold: equal after NFC, or named; a string outside a closed set is an enum error first."""
    if same_text(gold, got):
        return []
    choices = place.choices()
    if choices is None:
        kind = string_class(gold, got) or "value_wrong"
    elif any(isinstance(choice, str) and same_text(choice, got) for choice in choices):
        kind = "value_wrong"
    else:
        kind = "enum_case" if gold.casefold() == got.casefold() else "enum_invalid"
    return [differs(kind, gold, got, path)]


def compare_types(gold: Json, got: Json, place: Place, path: Path) -> list[Finding]:
    """Two values of different JSON types, or two booleans that differ."""
    types = place.types()
    if types:
        kind = "value_wrong" if _allowed(got, types) else "type_error"
    else:
        kind = "value_wrong" if json_type(gold) == json_type(got) else "type_error"
    if kind == "value_wrong" and place.choices() is not None and not is_choice(got, place):
        kind = "enum_invalid"
    return [differs(kind, gold, got, path)]


def is_number(value: Json) -> bool:
    """Whether a value is a number: booleans are none."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def json_type(value: Json) -> str:
    """The JSON Schema type of a value: `integer` where it is spelled as one, `number` for other numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict | list):
        return "object" if isinstance(value, dict) else "array"
    return "integer" if is_integer_literal(value) else "number"


def is_choice(value: Json, place: Place) -> bool:
    """Whether a value is one of the closed set at `place`."""
    kind = "number" if is_number(value) else json_type(value)
    choices = place.choices() or []
    return any(("number" if is_number(c) else json_type(c)) == kind and c == value for c in choices)


def _allowed(value: Json, types: set[str]) -> bool:
    return json_type(value) in types or (is_number(value) and "number" in types)
