"""Calls that came as calls: the `tool_calls` list of an API answer, or the text of one `function.arguments`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsets.records import Json
from judges.call_shape import Call, Reading, Tools, open_arguments
from judges.findings import Finding, Span, pointer, spell
from judges.json_reader import decode_whole
from judges.payload import read_payload
from judges.schema import Place

_NOTHING: Place = Place({}, {})


@dataclass(frozen=True, slots=True)
class NativeCall:
    """One call as an API gives it. `arguments` is JSON text; some servers give an object or null."""

    name: str
    arguments: Json


def read_tool_calls(native: Sequence[NativeCall], tools: Tools, natural: bool) -> Reading:
    """The calls of a `tool_calls` list; none is no attempt. Never raises."""
    calls: list[Call] = []
    findings: list[Finding] = []
    for entry in native:
        found, wrong = _read_arguments(entry, tools, natural, len(calls))
        calls += found
        findings += wrong
    return Reading(tuple(calls), tuple(findings), attempt=bool(native))


def native_calls(entries: Sequence[Json]) -> list[NativeCall]:
    """A `tool_calls` list in either spelling: `{name, arguments}` or `{type, function: {name, arguments}}`."""
    found = []
    for entry in entries:
        inner = entry.get("function", entry) if isinstance(entry, Mapping) else None
        inner = inner if isinstance(inner, Mapping) else {}
        name = inner.get("name")
        found.append(NativeCall(name if isinstance(name, str) else "", inner.get("arguments")))
    return found


def _read_arguments(entry: NativeCall, tools: Tools, natural: bool, index: int) -> tuple[list[Call], list[Finding]]:
    place = tools.get(entry.name)
    text = entry.arguments
    if text is None or (isinstance(text, str) and text.strip() in ("", "null")):
        if not (place or _NOTHING).required():
            return [Call(entry.name, {})], []
        wrong = Finding("args_not_object", pointer(index, "arguments"), "an object", spell(text))
        return [Call(entry.name, None)], [wrong]
    if not isinstance(text, str):
        arguments, findings = open_arguments(text, place, index, None)
        return [Call(entry.name, arguments)], findings
    return _read_text(entry.name, text, place, natural, index)


def _read_text(
    name: str, text: str, place: Place | None, natural: bool, index: int
) -> tuple[list[Call], list[Finding]]:
    whole = decode_whole(text)
    span: Span = (0, len(text))
    if whole is not None:
        return _from_value(name, whole[0], place, index, span)
    payload = read_payload(text, 0, len(text), natural)
    path = pointer(index, "arguments")
    findings = [Finding(f.kind, path, f.expected, f.got, f.span, f.recovery) for f in payload.findings]
    if not payload.readable:
        return [Call(name, None, span)], findings
    calls: list[Call] = []
    for value, place_of in payload.values:
        found, wrong = _from_value(name, value, place, index + len(calls), place_of)
        calls += found
        findings += wrong
    return calls, findings


def _from_value(
    name: str, value: Json, place: Place | None, index: int, span: Span
) -> tuple[list[Call], list[Finding]]:
    arguments, findings = open_arguments(value, place, index, span)
    return [Call(name, arguments, span)], findings
