"""Calls in the qwen_xml dialect: `<tool_call>` `<function=name>` `<parameter=key>` value `</parameter>` and so on.

A parameter whose type is string is the raw text less one newline on each side; any other is JSON.
"""

from __future__ import annotations

import re

from evalsets.records import Json
from judges.call_shape import Call, Reading, Tools
from judges.collector import Collector
from judges.envelope_hermes import OPEN
from judges.findings import Finding, Span, evidence, pointer
from judges.json_reader import decode_whole
from judges.payload import read_payload
from judges.schema import Place
from judges.turn import THINK, UNTHINK, Turn

_FUNCTION = re.compile(r"<function=([^<>\n]{1,200})>")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\n]{1,200})>")
# A closing tag is one only where structure goes on after it; elsewhere it is part of the value.
_PARAMETER_END = re.compile(r"</parameter>(?=\s*(?:<parameter=|</function>|</tool_call>|<tool_call>|\Z))")
_UNCLOSED_END = re.compile(r"\n?(?=<parameter=|</function>|</tool_call>)|\Z")
_FUNCTION_END = re.compile(r"\s*</function>")
_STRAY = re.compile(r"</(?:tool_call|function|parameter)[\w]*>")
_SCALAR_NOISE = {
    "not_json",
    "unquoted_value",
    "trailing_text",
    "concatenated",
    "garbage",
    "missing_quote",
    "text_around",
}


def read_xml(turn: Turn, tools: Tools, natural: bool) -> Reading:
    """The calls of a turn in the qwen_xml dialect. Never raises."""
    raw, into = turn.raw, Collector(tools, natural)
    position, thinking, complete = turn.start, turn.open_think, True
    while found := _FUNCTION.search(raw, position, turn.end):
        think = raw.find(THINK, position, found.start())
        if think >= 0:
            close = raw.find(UNTHINK, think, turn.end)
            thinking = thinking or close < 0
            position = think + len(THINK) if close < 0 else close + len(UNTHINK)
            continue
        _before(raw, (position, found.start()), found.group(1).strip() in tools, into)
        position, closed = _read_function(raw, found, turn.end, into)
        complete = complete and closed
    if not into.calls:
        return _without_functions(turn, into)
    stray = _STRAY.search(raw, position, turn.end)
    if stray:
        into.note("stray_close_tag", stray.span(), "tag_repair")
    if thinking:
        last = _STRAY.sub("", raw[position : turn.end]).strip()
        whole = complete and not last and all(call.arguments is not None for call in into.calls)
        into.note("in_think", (turn.start, turn.end), "think_ends_in_call" if whole else "")
    return into.reading()


def _without_functions(turn: Turn, into: Collector) -> Reading:
    tag = turn.raw.find(OPEN, turn.start, turn.end)
    if tag < 0:
        return into.reading(attempt=False)
    body = turn.raw[tag + len(OPEN) : turn.end]
    into.findings.append(Finding("inner_format", expected="<function=", got=evidence(body), span=(tag, turn.end)))
    into.unreadable((tag, turn.end))
    return into.reading()


def _before(raw: str, gap: Span, declared: bool, into: Collector) -> None:
    """What stands before a function: its opening tag, or none, and closing tags that close nothing."""
    text = raw[gap[0] : gap[1]]
    opening = text.rfind(OPEN)
    repair = "tag_repair" if declared else ""
    if opening < 0 or text[opening + len(OPEN) :].strip():
        into.note("tag_missing", (gap[1], gap[1]), repair)
    elif text.count(OPEN) > 1:
        into.note("tag_dup", (gap[0] + opening, gap[0] + opening + len(OPEN)), repair)
    if stray := _STRAY.search(text):
        into.note("stray_close_tag", (gap[0] + stray.start(), gap[0] + stray.end()), "tag_repair")


def _read_function(raw: str, found: re.Match[str], end: int, into: Collector) -> tuple[int, bool]:
    """Read one function block; the offset after it, and whether all of its tags are closed."""
    name, index = found.group(1).strip(), len(into.calls)
    place = into.tools.get(name)
    repair = "tag_repair" if place else ""
    arguments: dict[str, Json] | None = {}
    position, closed = found.end(), True
    while parameter := _PARAMETER.match(raw, position, end):
        key = parameter.group(1).strip()
        stop, position, whole = _parameter_end(raw, parameter.end(), end)
        closed = closed and whole
        text = _less_newlines(raw[parameter.end() : stop])
        findings, value = _read_value(text, parameter.end(), place, key, into.natural)
        path = pointer(index, "arguments", key)
        into.findings += [Finding(f.kind, path, got=f.got, span=f.span, recovery=f.recovery) for f in findings]
        if arguments is not None and key in arguments:
            into.findings.append(Finding("json_syntax.duplicate_key", path, got=key, span=parameter.span()))
            arguments = None
        if arguments is not None:
            arguments = None if value is None else {**arguments, key: value[0]}
    function_end = _FUNCTION_END.match(raw, position, end)
    position = function_end.end() if function_end else position
    trailing = re.compile(r"\s*(?:</(?!tool_call>)\w+>\s*)*").match(raw, position, end)
    if trailing and trailing.group().strip():
        into.note("stray_close_tag", trailing.span(), repair)
        position = trailing.end()
    close = re.compile(r"\s*</tool_call>").match(raw, position, end)
    position = close.end() if close else position
    if not (function_end and close and closed):
        into.note("tag_unclosed", (found.start(), position), repair)
    into.calls.append(Call(name, arguments, (found.start(), position)))
    return position, bool(function_end and close and closed)


def _parameter_end(raw: str, start: int, end: int) -> tuple[int, int, bool]:
    """Where a value ends, the offset after its closing tag, and whether there is one."""
    close = _PARAMETER_END.search(raw, start, end)
    following = re.compile(r"<parameter=").search(raw, start, end)
    if close and not (following and following.start() < close.start()):
        return close.start(), close.end(), True
    unclosed = _UNCLOSED_END.search(raw, start, end)
    stop = unclosed.start() if unclosed else end
    return stop, unclosed.end() if unclosed else end, False


def _less_newlines(text: str) -> str:
    text = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")


def _read_value(
    text: str, offset: int, place: Place | None, key: str, natural: bool
) -> tuple[list[Finding], tuple[Json] | None]:
    """The value of a parameter as a 1-tuple (None where it cannot be read without loss), and what is wrong with it."""
    types = place.key(key).types() if place else set()
    plain = decode_whole(text)
    if not types or "string" in types:
        null = "null" in types and text.strip() == "null"
        keep = bool(types) or plain is None
        return [], (None,) if null else (text,) if keep or plain is None else plain
    if plain is not None:
        return [], plain
    payload = read_payload(text, 0, len(text), natural)
    found = [
        Finding(f.kind, got=f.got, span=(offset, offset + len(text)), recovery=f.recovery) for f in payload.findings
    ]
    # A bare word in the place of a scalar is text: the wrong type, not damaged JSON.
    scalar = not types & {"object", "array"}
    if scalar and any(finding.kind.removeprefix("json_syntax.") in _SCALAR_NOISE for finding in found):
        return [], (text,)
    if payload.readable and len(payload.values) == 1:
        return found, (payload.values[0][0],)
    return found, None
