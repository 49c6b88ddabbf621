"""From a JSON value to a call: its name and its arguments, and what is odd about the way they are wrapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsets.records import Json
from judges.findings import Finding, Span, pointer, spell
from judges.json_reader import decode_whole
from judges.keys import folded
from judges.schema import Place

Tools = Mapping[str, Place]  # tool name -> its parameters

# As `folded` has them: letter case, `_` and `-` make no other alias.
NAME_ALIASES = ("name", "function", "tool", "toolname", "functionname", "action")
ARGUMENT_ALIASES = (
    *("arguments", "argument", "parameters", "parameter", "args", "params", "input", "kwargs"),
    *("toolinput", "toolargs", "functionargs", "functionarguments", "actioninput"),
)
ENVELOPES = ("arguments", "parameters", "properties")
_SCHEMA_WORDS = {"type": "object", "$schema": None, "required": None, "additionalProperties": None}
_MAX_LAYERS = 8


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was read. `name` or `arguments` is None where it could not be read without loss."""

    name: str | None
    arguments: dict[str, Json] | None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a completion holds. `attempt`: it calls, or tries to; `example`: only by JSON shown inside prose."""

    calls: tuple[Call, ...] = ()
    findings: tuple[Finding, ...] = ()
    attempt: bool = False
    example: bool = False


def tools_by_name(functions: Sequence[tuple[str, Mapping[str, Any]]]) -> Tools:
    """Tools by name, from (name, JSON Schema of the parameters) pairs."""
    return {name: Place(parameters, parameters) for name, parameters in functions}


def is_call_shaped(value: Json) -> bool:
    """Whether a value is an object with a `name` and `arguments` or `parameters`."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return False
    return "arguments" in value or "parameters" in value


def calls_of(value: Json, span: Span, tools: Tools, first: int) -> tuple[list[Call], list[Finding]]:
    """The calls in a payload's value, the first being number `first`, and the findings of how they are wrapped.

    A list holds several calls. A string that encodes a call is decoded once.
    """
    if isinstance(value, str):
        decoded = decode_whole(value)
        if decoded and isinstance(decoded[0], dict | list):
            calls, findings = calls_of(decoded[0], span, tools, first)
            wrapped = Finding("double_encoded", got=spell(value), span=span, recovery="decode_once")
            return calls, [wrapped, *findings]
    if isinstance(value, list) and value:
        calls, findings = [], [Finding("list", got=f"{len(value)} items", span=span, recovery="list_of_calls")]
        for item in value:
            call, found = _call(item, span, tools, first + len(calls))
            calls.append(call)
            findings += found
        return calls, findings
    call, findings = _call(value, span, tools, first)
    return [call], findings


def _call(value: Json, span: Span, tools: Tools, index: int) -> tuple[Call, list[Finding]]:
    if not isinstance(value, dict):
        return Call(None, None, span), [Finding("inner_format", pointer(index), "a call", spell(value), span)]
    name = value.get("name")
    if not isinstance(name, str):
        return _without_name(value, span, index)
    findings: list[Finding] = []
    if "arguments" not in value:
        alias = "parameters" if "parameters" in value else _alias(value, ARGUMENT_ALIASES)
        if alias is None:
            return Call(name, None, span), [_without_arguments(value, name, tools, (span, index))]
        recovery = "parameters_for_arguments" if alias == "parameters" else ""
        findings.append(Finding("key_alias", pointer(index, alias), "arguments", alias, span, recovery))
        if not recovery:
            return Call(name, None, span), findings
    place = tools.get(name)
    key = "arguments" if "arguments" in value else "parameters"
    if place and key == "arguments":
        frame = {"name", "arguments"} | ({"type"} if value.get("type") == "function" else set())
        others = [k for k in value if k not in frame and k in place.properties()]
        findings += [Finding("extra_key", pointer(index, k), got=spell(value[k]), span=span) for k in others]
    arguments, found = open_arguments(value[key], place, index, span)
    return Call(name, arguments, span), findings + found


def open_arguments(
    value: Json, place: Place | None, index: int, span: Span | None
) -> tuple[dict[str, Json] | None, list[Finding]]:
    """The arguments in what stands for them, out of their wrappings; None where they cannot be read without loss."""
    path = pointer(index, "arguments")
    if isinstance(value, str):
        decoded = decode_whole(value)
        if decoded and isinstance(decoded[0], dict):
            wrapped = Finding("double_encoded", path, "an object", spell(value), span, "decode_once")
            arguments, findings = open_arguments(decoded[0], place, index, span)
            return arguments, [wrapped, *findings]
        kind = "double_encoded" if value.strip()[:1] == "{" else "args_not_object"
        return None, [Finding(kind, path, "an object", spell(value), span)]
    if not isinstance(value, dict):
        return None, [Finding("args_not_object", path, "an object", spell(value), span)]
    return _unwrap(value, place, path, span) if place else (value, [])


def _unwrap(
    value: dict[str, Json], place: Place, path: str, span: Span | None
) -> tuple[dict[str, Json] | None, list[Finding]]:
    """Arguments out of an envelope (`arguments`, `parameters`, `properties`) that the tool does not declare."""
    declared = place.properties()
    key = next((key for key in ENVELOPES if key in value and key not in declared), None)
    if key is None:
        return value, []
    finding = Finding("args_envelope", path, "the arguments", spell(value), span, "envelope")
    inside: Json = value
    for _ in range(_MAX_LAYERS):
        layer = _only_envelope(inside, declared)
        if layer is None:
            break
        inside = layer
    if isinstance(inside, dict) and inside is not value and all(name in declared for name in inside):
        return inside, [finding]
    content = value[key]
    whole_call = "name" in value and "name" not in declared
    if whole_call or (isinstance(content, dict) and any(name in declared for name in content)):
        return None, [Finding("args_envelope", path, "the arguments", spell(value), span)]
    return value, []


def _only_envelope(value: Json, declared: Mapping[str, Any]) -> Json | None:
    """What is inside an envelope that is the only key; beside `properties`, schema keywords may stand."""
    if not isinstance(value, dict):
        return None
    keys = [key for key in value if key in ENVELOPES and key not in declared]
    if len(keys) != 1 or not isinstance(value[keys[0]], dict):
        return None
    others = [key for key in value if key != keys[0]]
    if others and (keys[0] != "properties" or value.get("type") != "object"):
        return None
    if any(other in declared or other not in _SCHEMA_WORDS for other in others):
        return None
    return value[keys[0]]


def _alias(value: Mapping[str, Json], aliases: Sequence[str]) -> str | None:
    """The first key that is one of `aliases` when folded."""
    return next((key for key in value if folded(key) in aliases), None)


def _without_name(value: dict[str, Json], span: Span, index: int) -> tuple[Call, list[Finding]]:
    nested = value.get("function")
    alias = _alias({key: inner for key, inner in value.items() if isinstance(inner, str)}, NAME_ALIASES)
    if alias or is_call_shaped(nested):
        got = alias or "function"
        named = value[alias] if alias else nested["name"] if isinstance(nested, dict) else None
        finding = Finding("key_alias", pointer(index, got), "name", got, span)
        return Call(named if isinstance(named, str) else None, None, span), [finding]
    return Call(None, None, span), [Finding("inner_format", pointer(index), "name and arguments", spell(value), span)]


def _without_arguments(value: dict[str, Json], name: str, tools: Tools, where: tuple[Span, int]) -> Finding:
    span, index = where
    declared = tools[name].properties() if name in tools else {}
    if any(key in declared for key in value):
        return Finding("inner_format", pointer(index), "arguments", spell(value), span)
    return Finding("args_not_object", pointer(index, "arguments"), "an object", "absent", span)
