"""What a schema says about a place, and validation that fetches nothing and divides in decimal."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from referencing.exceptions import Unresolvable

from judges.cases import judge_case
from judges.schema import Place, violations

ROOT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "price": {"type": "number", "multipleOf": 0.01},
        "qty": {"type": "integer"},
        "level": {"$ref": "#/$defs/level"},
        "when": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "loop": {"$ref": "#/properties/loop"},
    },
    "$defs": {"level": {"enum": ["low", "high"]}},
    "additionalProperties": False,
}


def test_places_follow_references_and_alternatives() -> None:
    place = Place(ROOT, ROOT)
    assert place.key("level").choices() == ["low", "high"]
    assert place.key("when").types() == {"string", "null"}
    assert place.key("when").choices() is None
    assert place.key("qty").types() == {"integer"}
    assert place.key("nothing").types() == set()
    assert place.key("loop").types() == set()


def test_an_enum_behind_a_reference_is_one() -> None:
    case = {
        "tool_schema": [{"name": "f", "parameters": ROOT}],
        "expected": [{"name": "f", "arguments": {"level": "low"}}],
        "raw": '{"level": "LOW"}',
        "form": "arguments",
        "called_name": "f",
    }
    assert judge_case(case).primary == "enum_case"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"price": Decimal("19.99"), "qty": 3, "level": "low", "when": None}, 0),
        ({"price": Decimal("19.995")}, 1),
        ({"qty": Decimal("3.0")}, 1),
        ({"qty": True}, 1),
        ({"level": "LOW", "colour": 1}, 2),
    ],
)
def test_violations(arguments: dict[str, Any], found: int) -> None:
    assert len(violations(ROOT, arguments)) == found


def test_a_remote_reference_is_never_fetched() -> None:
    with pytest.raises(Unresolvable):
        violations({"properties": {"a": {"$ref": "https://schemas.invalid/a.json"}}}, {"a": 1})
