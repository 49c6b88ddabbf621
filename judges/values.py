"""How an argument's value, or a whole object of arguments, differs from what is accepted: every difference named."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal

from evalsets.records import Json
from judges.findings import Finding, pointer, spell
from judges.json_reader import decode_whole
from judges.keys import pair_keys
from judges.scalars import Path, compare_number, compare_string, compare_types, differs, is_number
from judges.schema import Place

NULL_SPELLINGS = ("null", "None")
_VAGUENESS = {"value_wrong": 2, "type_error": 1}


def compare_object(
    wanted: Mapping[str, Sequence[Json]], optional: set[str], got: Mapping[str, Json], place: Place, path: Path
) -> list[Finding]:
    """What differs between an object and the accepted values of its keys (`wanted`; those of `optional` may lack).

    A key whose default is accepted may lack as well; a declared key that is not wanted may stand with its default.
    """
    declared = place.properties()
    findings: list[Finding] = []
    surplus: list[str] = []
    for key, value in got.items():
        if key in wanted:
            accepted = wanted[key]
            if _plainly_right(accepted, value):
                continue
            if value is None and None not in accepted and _omittable(key, wanted, optional, place):
                findings.append(_null(key, place, path))
            else:
                findings += best_match(accepted, value, place.key(key), (*path, key))
        elif key in declared:
            findings += _not_wanted(key, value, place, path)
        else:
            surplus.append(key)
    missing = [key for key in wanted if key not in got]
    if missing and surplus:
        findings += _written_otherwise(wanted, got, missing, surplus, (place, path))
    for key in missing:
        if not _omittable(key, wanted, optional, place):
            findings.append(Finding("missing_key", pointer(*path, key), expected=spell(wanted[key][0])))
    findings += [Finding("extra_key", pointer(*path, key), got=spell(got[key])) for key in surplus]
    return findings


def _plainly_right(accepted: Sequence[Json], got: Json) -> bool:
    """Whether a string or an integer is one of the accepted values as it stands, which no schema makes wrong."""
    return type(got) in (str, int) and any(type(gold) is type(got) and gold == got for gold in accepted)


def best_match(accepted: Sequence[Json], got: Json, place: Place, path: Path) -> list[Finding]:
    """The findings against that accepted value which explains `got` best; none where one of them is equal."""
    best: list[Finding] | None = None
    for gold in accepted:
        findings = compare_value(gold, got, place, path)
        if not findings:
            return []
        if best is None or cost(findings) < cost(best):
            best = findings
    return best or []


def compare_value(gold: Json, got: Json, place: Place, path: Path) -> list[Finding]:
    """What differs between `got` and one accepted value at `place`; the paths of the findings start with `path`."""
    if isinstance(gold, str) and isinstance(got, str):
        return compare_string(gold, got, place, path)
    if isinstance(gold, int | Decimal) and isinstance(got, int | Decimal) and is_number(gold) and is_number(got):
        return compare_number(gold, got, place, path)
    if isinstance(gold, dict) and isinstance(got, dict):
        return compare_object({key: [value] for key, value in gold.items()}, set(), got, place, path)
    if isinstance(gold, list) and isinstance(got, list):
        return _compare_array(gold, got, place, path)
    if isinstance(got, str):
        return _string_for(gold, got, place, path)
    return [] if type(gold) is type(got) and gold == got else compare_types(gold, got, place, path)


def _compare_array(gold: list[Json], got: list[Json], place: Place, path: Path) -> list[Finding]:
    if len(gold) != len(got):
        return [differs("value_wrong", gold, got, path)]
    pairs = ((i, (a, b)) for i, (a, b) in enumerate(zip(gold, got, strict=True)) if not _plainly_right((a,), b))
    return [finding for i, (a, b) in pairs for finding in compare_value(a, b, place.item(i), (*path, i))]


def equal(gold: Json, got: Json, place: Place) -> bool:
    """Whether two values are the same; how a number is spelled does not matter here."""
    return all(finding.kind == "int_as_float" for finding in compare_value(gold, got, place, ()))


def frozen(value: Json) -> Hashable:
    """A key that two values share exactly where they are `equal` at a place of which nothing is declared."""
    if isinstance(value, dict):
        return frozenset((key, frozen(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return tuple(frozen(inner) for inner in value)
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    return (bool, value) if isinstance(value, bool) else value


def cost(findings: Sequence[Finding]) -> tuple[int, int, int]:
    """How far findings are from right, to be compared: the number of errors that nothing undoes, how vague these are,
    and the number of findings. What the tolerant verdict passes is nearer than anything it does not pass."""
    errors = [finding.kind for finding in findings if not finding.recovery]
    return len(errors), sum(_VAGUENESS.get(kind, 0) for kind in errors), len(findings)


def _written_otherwise(
    wanted: Mapping[str, Sequence[Json]],
    got: Mapping[str, Json],
    missing: list[str],
    surplus: list[str],
    where: tuple[Place, Path],
) -> list[Finding]:
    """The findings for missing keys that stand there under another spelling; takes them out of both lists."""
    place, path = where

    def holds(key: str, other: str) -> bool:
        return any(equal(gold, got[other], place.key(key)) for gold in wanted[key])

    findings: list[Finding] = []
    for key, other, label in pair_keys(missing, surplus, holds):
        missing.remove(key)
        surplus.remove(other)
        findings.append(Finding(label, pointer(*path, other), expected=key, got=other))
        findings += best_match(wanted[key], got[other], place.key(key), (*path, other))
    return findings


def _omittable(key: str, wanted: Mapping[str, Sequence[Json]], optional: set[str], place: Place) -> bool:
    if key in optional:
        return True
    inside = place.key(key)
    default = inside.default()
    return default is not None and any(equal(default[0], gold, inside) for gold in wanted[key])


def _not_wanted(key: str, value: Json, place: Place, path: Path) -> list[Finding]:
    """A declared key that gold omits: right with its default, else named by what stands there."""
    inside = place.key(key)
    default = inside.default()
    if default is not None:
        found = compare_value(default[0], value, inside, (*path, key))
        if all(finding.kind == "int_as_float" for finding in found):
            return found
    if value is None:
        return [_null(key, place, path)]
    kind = "null_string" if value in NULL_SPELLINGS else "value_wrong"
    return [Finding(kind, pointer(*path, key), spell(default[0]) if default else "absent", spell(value))]


def _null(key: str, place: Place, path: Path) -> Finding:
    recovery = "" if key in place.required() else "null_as_absent"
    return Finding("null_vs_absent", pointer(*path, key), expected="absent", got="null", recovery=recovery)


def _string_for(gold: Json, got: str, place: Place, path: Path) -> list[Finding]:
    """A string where gold is null, a number, a boolean, an array or an object."""
    if gold is None and got in NULL_SPELLINGS:
        return [differs("null_string", gold, got, path)]
    decoded = decode_whole(got)
    if isinstance(gold, dict | list):
        if decoded and isinstance(decoded[0], type(gold)):
            inside = compare_value(gold, decoded[0], place, path)
            # Where the schema allows a string too, nothing says that it was meant to be decoded.
            types = place.types()
            recovery = "decode_once" if types and "string" not in types else ""
            return [differs("stringified", gold, got, path, recovery), *inside]
        ends = got.strip()[:1] + got.strip()[-1:]
        damaged = decoded is None and ends == ("{}" if isinstance(gold, dict) else "[]")
        return [differs("stringified" if damaged else "type_error", gold, got, path)]
    if decoded and not isinstance(decoded[0], str) and equal(gold, decoded[0], place):
        return [differs("stringified", gold, got, path)]
    return compare_types(gold, got, place, path)
