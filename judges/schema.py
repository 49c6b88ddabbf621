"""What a tool's JSON Schema says about one place: its types, its closed set of values, its default, its keys.

The judge compares with gold, not with the schema; the schema says which name an error gets. `violations` validates a
gold against its schema (draft 2020-12), fetching nothing: a `$ref` outside the schema is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import jsonschema
import referencing
from jsonschema import validators

from evalsets.records import Json, canonical_json
from judges.json_reader import MAX_DEPTH

_EXACT = Context(prec=2000)
_MAX_STEPS = 20  # of $ref and of combined schemas, followed at one place
_MAX_NESTING = 8  # of combined schemas, looked through for a closed set of values
_LONG_BITS = 3322  # of an integer of 1,000 digits; Python refuses to write out 4,300
_NO_DEFAULT = object()
_EMPTY: dict[str, Any] = {}


# Not frozen for the same reason as a `Finding`: one is made for every tool and every argument of an answer.
@dataclass(slots=True)
class Place:
    """A place in a tool's parameters: its subschema and the whole schema that `$ref` points into."""

    schema: Mapping[str, Any]
    root: Mapping[str, Any]

    def branches(self) -> list[Mapping[str, Any]]:
        """The alternatives that may hold here, `$ref`, `anyOf`, `oneOf` and `allOf` followed, in schema order."""
        if not ("$ref" in self.schema or "anyOf" in self.schema or "oneOf" in self.schema or "allOf" in self.schema):
            return [self.schema]
        found: list[Mapping[str, Any]] = []
        waiting: list[Any] = [self.schema]
        for _ in range(_MAX_STEPS):
            if not waiting:
                break
            schema = waiting.pop(0)
            if not isinstance(schema, Mapping):
                continue
            parts = [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, [])]
            if isinstance(schema.get("$ref"), str):
                parts.append(_local(schema["$ref"], self.root))
            waiting = parts + waiting
            if not parts or "type" in schema or "properties" in schema or "enum" in schema:
                found.append(schema)
        return found

    def types(self) -> set[str]:
        """The JSON types allowed here; empty where any is."""
        types: set[str] = set()
        for branch in self.branches():
            declared = branch.get("type")
            if declared is None and ("properties" in branch):
                declared = "object"
            types.update([declared] if isinstance(declared, str) else declared or [])
        return types

    def choices(self) -> list[Json] | None:
        """The closed set of values (`enum`, `const`, null alone) allowed here, or None where it is open."""
        return _closed(self.schema, self.root, _MAX_NESTING)

    def default(self) -> tuple[Json] | None:
        """The default as a 1-tuple, or None where there is none: of this place, or of what it refers to."""
        value = self.schema.get("default", _NO_DEFAULT)
        if value is _NO_DEFAULT and len(branches := self.branches()) == 1:
            value = branches[0].get("default", _NO_DEFAULT)
        return None if value is _NO_DEFAULT else (exact(value),)

    def properties(self) -> Mapping[str, Any]:
        """The declared keys of an object here, with their subschemas."""
        branches = self.branches()
        if len(branches) == 1:
            single: Mapping[str, Any] = branches[0].get("properties") or _EMPTY
            return single
        merged: dict[str, Any] = {}
        for branch in branches:
            merged.update(branch.get("properties") or _EMPTY)
        return merged

    def required(self) -> set[str]:
        """The keys that an object here must have."""
        return {key for branch in self.branches() for key in branch.get("required") or ()}

    def key(self, name: str) -> Place:
        """The place of a member: as declared, or as `additionalProperties` says of all that are not."""
        schema = self.properties().get(name)
        if schema is None:
            schema = next((b["additionalProperties"] for b in self.branches() if "additionalProperties" in b), None)
        return Place(schema if isinstance(schema, Mapping) else _EMPTY, self.root)

    def item(self, index: int) -> Place:
        """The place of an array's item: as `prefixItems` says of this one, or as `items` says of all."""
        for branch in self.branches():
            prefix = branch.get("prefixItems") or ()
            schema = prefix[index] if index < len(prefix) else branch.get("items")
            if isinstance(schema, Mapping):
                return Place(schema, self.root)
        return Place(_EMPTY, self.root)


def _closed(schema: Any, root: Mapping[str, Any], steps: int) -> list[Json] | None:
    """The values that a schema lists, or None where it lists none. What stands side by side in a schema, and in
    `allOf`, holds together, so that one list is enough; of alternatives each has to list its own."""
    if not isinstance(schema, Mapping) or not steps:
        return None
    if "enum" in schema:
        return [exact(value) for value in schema["enum"]]
    if "const" in schema or schema.get("type") == "null":
        return [exact(schema.get("const"))]
    together = [_local(schema["$ref"], root)] if isinstance(schema.get("$ref"), str) else []
    for part in [*together, *schema.get("allOf", [])]:
        if (values := _closed(part, root, steps - 1)) is not None:
            return values
    for word in ("anyOf", "oneOf"):
        lists = [_closed(part, root, steps - 1) for part in schema.get(word, [])]
        if lists and all(values is not None for values in lists):
            return [value for values in lists if values is not None for value in values]
    return None


def exact(value: Any, levels: int = MAX_DEPTH) -> Json:
    """A value with fractions as Decimal, by the shortest literal that names them (0.1, not its binary).

    As `json_reader` has it, an integer of more than 1,000 digits is a Decimal. What is no JSON is a string: `NaN` and
    `Infinity` by their names, `…` for what is nested deeper than `levels`.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _LONG_BITS else Decimal(value)
    if isinstance(value, Mapping | list | tuple) and levels == 0:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): exact(inner, levels - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [exact(inner, levels - 1) for inner in value]
    fraction = value if isinstance(value, Decimal) else Decimal(str(value))
    return fraction if fraction.is_finite() else str(fraction)


def violations(parameters: Mapping[str, Any], arguments: Any) -> list[str]:
    """How `arguments` break the schema, one line a violation with its JSON path; empty where they are valid.

    Raises `referencing.exceptions.Unresolvable` for a `$ref` that leads outside the schema.
    """
    validator = _validator(canonical_json(parameters).decode("utf-8", "surrogatepass"))
    errors = sorted(validator.iter_errors(arguments), key=lambda error: error.json_path)
    return [f"{error.json_path}: {error.message}" for error in errors]


@lru_cache(maxsize=512)
def _validator(parameters: str) -> Any:
    schema = json.loads(parameters, parse_float=Decimal)
    checker = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many({"number": _is_number, "integer": _is_integer})
    extend: Any = validators.extend
    kind = extend(jsonschema.Draft202012Validator, {"multipleOf": _multiple_of}, type_checker=checker)
    return kind(schema, registry=referencing.Registry())


def _is_number(_checker: Any, value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_integer(_checker: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _multiple_of(_validator: Any, factor: Any, value: Any, _schema: Any) -> Any:
    if _is_number(None, value) and _EXACT.remainder(Decimal(value), Decimal(factor)) != 0:
        yield jsonschema.ValidationError(f"{value} is not a multiple of {factor}")


def _local(reference: str, root: Mapping[str, Any]) -> Any:
    """The subschema that a local reference (`#/$defs/x`) names; an empty one where it leads nowhere."""
    here: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if step:
            here = here.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(here, Mapping) else None
    return here if isinstance(here, Mapping) and reference.startswith("#") else _EMPTY
