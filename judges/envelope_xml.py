"""Calls in the qwen_xml dialect: `<tool_call>` `<function=name>` `<parameter=key>` value `</parameter>` and so on.

A closing tag ends a value only where structure goes on after it; elsewhere it is part of the value. So is an opening
tag in a closed value, unless a declared parameter or a function block begins with it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Sequence
from dataclasses import dataclass

from evalsets.records import Json
from judges.attempts import thought
from judges.call_shape import Call, Reading, Tools
from judges.collector import Collector
from judges.envelope_bare import read_untagged
from judges.envelope_hermes import OPEN
from judges.findings import Finding, Span, evidence, pointer
from judges.json_reader import skip
from judges.schema import Place
from judges.turn import THINK, UNTHINK, Turn
from judges.xml_values import read_parameter

_FUNCTION = re.compile(r"<function=([^<>\n]{1,200})>")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\n]{1,200})>")
_PARAMETER_END = re.compile(r"</parameter>(?=\s*(?:<parameter=|</parameter>|</function>|</tool_call>|<tool_call>|\Z))")
_PARAMETER_ENDS = re.compile(r"\s*</parameter>(?:\s*</parameter>)*")
_NEXT_TAG = re.compile(r"<parameter=([^<>\n]{1,200})>|</function>|</tool_call>|(<tool_call>)(?=\s*<function=)")
_FUNCTION_END = re.compile(r"\s*</function>")
_SURPLUS_END = re.compile(r"\s*(?:</(?!tool_call>)\w+>\s*)+")
_BLOCK_END = re.compile(r"\s*</tool_call>")
_STRAY = re.compile(r"</(?:tool_call|function|parameter)\w*>")
_NOWHERE = Place({}, {})


@dataclass(slots=True)
class _Function:
    """One function block as far as it was read. `closed`: no tag lacks so far; `cut`: the text ends inside a value."""

    name: str
    index: int
    start: int
    position: int
    arguments: dict[str, Json] | None
    closed: bool = True
    cut: bool = False


def read_xml(turn: Turn, tools: Tools, natural: bool) -> Reading:
    """The calls of a turn in the qwen_xml dialect. Never raises."""
    raw, into = turn.raw, Collector(tools, natural)
    position, thinking, complete = turn.start, turn.open_think, True
    closes = [close.span() for close in _PARAMETER_END.finditer(raw, turn.start, turn.end)]
    while found := _FUNCTION.search(raw, position, turn.end):
        think = raw.find(THINK, position, found.start())
        if think >= 0:
            close = raw.find(UNTHINK, think, turn.end)
            thinking = thinking or close < 0
            position = think + len(THINK) if close < 0 else close + len(UNTHINK)
            continue
        opened = _before(raw, (position, found.start()), found.group(1).strip() in tools, into)
        block = _read_function(raw, _last_twin(raw, found, turn.end, into), turn.end, closes, into)
        position = _close_block(raw, block, turn.end, opened, into)
        complete = complete and block.closed
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
    """A turn without function tags: no attempt, or one in another format."""
    tag = turn.raw.find(OPEN, turn.start, turn.end)
    while tag >= 0 and (close := thought(turn.raw, turn.start, tag, turn.end)) is not None:
        tag = turn.raw.find(OPEN, close, turn.end)
    other = None if tag >= 0 else read_untagged(turn, into.tools, into.natural, tagged=True)
    if other is not None and not other.attempt:
        return other
    start = max(tag, turn.start)
    got = evidence(turn.raw[start : turn.end])
    into.findings.append(Finding("inner_format", expected="<function=", got=got, span=(start, turn.end)))
    into.unreadable((start, turn.end))
    return into.reading(example=other is not None and other.example)


def _before(raw: str, gap: Span, declared: bool, into: Collector) -> bool:
    """What stands before a function: its opening tag or none (the result), and closing tags that close nothing."""
    text = raw[gap[0] : gap[1]]
    opening = text.rfind(OPEN)
    repair = "tag_repair" if declared else ""
    opened = opening >= 0 and not text[opening + len(OPEN) :].strip()
    if not opened:
        into.note("tag_missing", (gap[1], gap[1]), repair)
    elif text.count(OPEN) > 1:
        into.note("tag_dup", (gap[0] + opening, gap[0] + opening + len(OPEN)), repair)
    if stray := _STRAY.search(text):
        into.note("stray_close_tag", (gap[0] + stray.start(), gap[0] + stray.end()), "tag_repair")
    return opened


def _last_twin(raw: str, found: re.Match[str], end: int, into: Collector) -> re.Match[str]:
    """The last of a function's opening tags where the same one is written several times in a row."""
    first = found
    while (twin := _FUNCTION.match(raw, skip(raw, found.end()), end)) and twin.group() == found.group():
        found = twin
    if found is not first:
        into.note("tag_dup", found.span(), "tag_repair" if found.group(1).strip() in into.tools else "")
    return found


def _read_function(raw: str, found: re.Match[str], end: int, closes: Sequence[Span], into: Collector) -> _Function:
    """The name and parameters of the function block that `found` opens; `closes` are the ends that values may have."""
    block = _Function(found.group(1).strip(), len(into.calls), found.start(), found.end(), {})
    place = into.tools.get(block.name, _NOWHERE)
    while parameter := _PARAMETER.match(raw, block.position, end):
        key = parameter.group(1).strip()
        stop = _end_value(raw, (parameter.end(), end), closes, place.properties(), block)
        value, findings = read_parameter(raw[parameter.end() : stop], parameter.end(), place.key(key), into.natural)
        path = pointer(block.index, "arguments", key)
        if block.arguments is not None and key in block.arguments:
            findings = [Finding("json_syntax.duplicate_key", got=key, span=parameter.span())]
            value = None
        into.findings += [Finding(f.kind, path, got=f.got, span=f.span, recovery=f.recovery) for f in findings]
        if value is None or block.cut:
            block.arguments = None
        elif block.arguments is not None:
            block.arguments[key] = value[0]
        if surplus := _PARAMETER_ENDS.match(raw, block.position, end):
            into.note("stray_close_tag", surplus.span(), "tag_repair" if block.name in into.tools else "")
            block.position = surplus.end()
    if block.position == found.end():
        _note_content(raw, end, block, into)
    return block


def _end_value(raw: str, rest: Span, closes: Sequence[Span], declared: Container[str], block: _Function) -> int:
    """Where a value ends; moves the block past its closing tag, or up to the next tag where it has none."""
    start, end = rest
    index = bisect_left(closes, (start, start))
    close = closes[index] if index < len(closes) else None
    first, opens = None, False
    for tag in _NEXT_TAG.finditer(raw, start, close[0] if close else end):
        if tag[1] is None or not declared or tag[1].strip() in declared:
            first, opens = first or tag, tag[1] is not None or tag[2] is not None
        if opens or (first and close is None):
            break
    if close and not opens:
        block.position = close[1]
        return close[0]
    block.closed = False
    block.cut = first is None
    block.position = first.start() if first else end
    return block.position


def _note_content(raw: str, end: int, block: _Function, into: Collector) -> None:
    """A function block that holds something else than parameters: another format, which is not read."""
    close = raw.find("</function>", block.position, end)
    stop = close if close >= 0 else end
    content = raw[block.position : stop].strip()
    if content and (close >= 0 or not content.startswith("</")):
        into.findings.append(Finding("inner_format", "", "<parameter=", evidence(content), (block.position, stop)))
        block.arguments, block.position = None, stop


def _close_block(raw: str, block: _Function, end: int, opened: bool, into: Collector) -> int:
    """Take the closing tags of a block and record the call; the offset after it."""
    repair = "tag_repair" if block.name in into.tools and not block.cut else ""
    position = block.position
    function_end = _FUNCTION_END.match(raw, position, end)
    position = function_end.end() if function_end else position
    if surplus := _SURPLUS_END.match(raw, position, end):
        into.note("stray_close_tag", surplus.span(), repair)
        position = surplus.end()
    close = _BLOCK_END.match(raw, position, end)
    position = close.end() if close else position
    block.closed = block.closed and function_end is not None
    if not block.closed or (opened and not close):
        into.note("tag_unclosed", (block.start, position), repair)
    into.calls.append(Call(block.name, block.arguments, (block.start, position)))
    return position
