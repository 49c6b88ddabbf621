"""Calls in the hermes dialect: `<tool_call>` JSON `</tool_call>`, as Qwen2.5-Instruct is taught to write them.

A block is delimited by decoding the JSON from its opening tag, never by searching for the next closing tag: a value
may contain the tag's text. Prose around blocks is allowed.
"""

from __future__ import annotations

import re
from dataclasses import replace

from judges.call_shape import Reading, Tools
from judges.collector import Collector
from judges.envelope_bare import read_untagged
from judges.findings import Finding, Span, evidence
from judges.json_reader import decode, skip
from judges.payload import OPENING, read_payload, unexplained
from judges.turn import THINK, UNTHINK, Turn

OPEN, CLOSE = "<tool_call>", "</tool_call>"

# A name with arguments in brackets, tags or lines, or a list of such: the call formats of other models.
_FORMATTED = re.compile(r"<|[A-Za-z_][\w.-]*\s*(?:[(<{\n]|\Z)|\[\s*[A-Za-z_][\w.-]*\(")
_KEYED = re.compile(r"[A-Za-z_][\w.-]*\s*[:=]\s")
_TAGS_ALONE = re.compile(rf"(?:\s|{OPEN}|{CLOSE})*+")
_MAX_CLOSERS = 4  # closing tags tried as the end of a payload that is not JSON


def read_hermes(turn: Turn, tools: Tools, natural: bool) -> Reading:
    """The calls of a turn in the hermes dialect. Never raises."""
    raw, into = turn.raw, Collector(tools, natural)
    message = decode(raw, turn.start) if raw.startswith("{", turn.start) else None
    if message and message[1] == turn.end:
        return read_untagged(turn, tools, natural, tagged=True)
    position, thinking = turn.start, turn.open_think
    blocks = 0
    while (tag := raw.find(OPEN, position, turn.end)) >= 0:
        think = raw.find(THINK, position, tag)
        if think >= 0:
            close = raw.find(UNTHINK, think, turn.end)
            thinking = thinking or close < 0
            position = think + len(THINK) if close < 0 else close + len(UNTHINK)
            continue
        _between(raw, position, tag, into)
        position = _read_block(raw, tag, turn.end, into)
        blocks += 1
    if not blocks:
        return read_untagged(turn, tools, natural, tagged=True)
    _between(raw, position, turn.end, into)
    if thinking:
        last = raw[position : turn.end].replace(CLOSE, "").strip()
        whole = not last and all(call.arguments is not None for call in into.calls)
        into.note("in_think", (turn.start, turn.end), "think_ends_in_call" if whole else "")
    return into.reading()


def _between(raw: str, start: int, end: int, into: Collector) -> None:
    """What stands between blocks: prose, a stray closing tag, or a call that lacks its tags or the opening one."""
    if start == end:
        return
    text = raw[start:end].replace(CLOSE, " " * len(CLOSE))
    first = start + len(text) - len(text.lstrip())
    gaps = [(start, end)]
    found = decode(raw, first) if text.strip()[:1] in ("{", "[") else None
    if found and not text[found[1] - start :].strip():
        content = found[0]
        if isinstance(content, dict) and content.get("name") in into.tools:
            declared = into.add_value(content, (first, found[1]))
            into.note("tag_missing", (first, found[1]), "tag_repair" if declared else "")
            after = skip(raw, found[1])
            gaps = [(start, first), (after + len(CLOSE) if raw.startswith(CLOSE, after) else after, end)]
    stray = next((place for left, right in gaps if (place := raw.find(CLOSE, left, right)) >= 0), -1)
    if stray >= 0:
        into.note("stray_close_tag", (stray, stray + len(CLOSE)), "tag_repair")


def _read_block(raw: str, tag: int, end: int, into: Collector) -> int:
    """Read the block that opens at `tag`; the offset after it."""
    start = skip(raw, tag + len(OPEN))
    doubled = False
    while raw.startswith(OPEN, start) and start < end:
        if not doubled:
            into.note("tag_dup", (start, start + len(OPEN)), "tag_repair")
        start, doubled = skip(raw, start + len(OPEN)), True
    found = decode(raw, start) if raw[start : start + 1] in OPENING else None
    if found and found[1] <= end:
        after = skip(raw, found[1])
        if raw.startswith(CLOSE, after):
            into.add_value(found[0], (start, found[1]))
            return _after_close(raw, after, doubled)
        return _read_open_end(raw, (start, found[1]), end, into)
    return _read_damaged(raw, tag, start, end, into)


def _after_close(raw: str, close: int, doubled: bool) -> int:
    position = close + len(CLOSE)
    while doubled and raw.startswith(CLOSE, skip(raw, position)):
        position = skip(raw, position) + len(CLOSE)
    return position


def _read_open_end(raw: str, payload: Span, end: int, into: Collector) -> int:
    """A block whose first value is whole but is not followed by the closing tag."""
    start, value_end = payload
    following = raw.find(OPEN, value_end, end)
    close = raw.find(CLOSE, value_end, following if following >= 0 else end)
    if close >= 0:
        into.add_payload(read_payload(raw, start, close, into.natural), (start, close))
        return close + len(CLOSE)
    stop = following if following >= 0 else end
    rest = raw[value_end:stop].lstrip()
    if rest[:1] in ("}", "]", ",", "{", "["):
        whole = into.add_payload(read_payload(raw, start, stop, into.natural), (start, stop))
    else:
        found = decode(raw, start)
        whole = into.add_value(found[0] if found else None, payload)
        stop = value_end if following < 0 else stop
    into.note("tag_unclosed", (start, stop), "tag_repair" if whole else "")
    # An opening tag in the place of the closing one opens nothing.
    return end if following >= 0 and _TAGS_ALONE.fullmatch(raw, following, end) else stop


def _read_damaged(raw: str, tag: int, start: int, end: int, into: Collector) -> int:
    """A block that does not begin with a JSON value."""
    following = raw.find(OPEN, start, end)
    limit = following if following >= 0 else end
    closes = [match.start() for match in re.finditer(CLOSE, raw[start:limit])][:_MAX_CLOSERS]
    stops = [start + close for close in closes] or [limit]
    first = stops[0]
    after = first + len(CLOSE) if closes else first
    body = raw[start:first].strip()
    if body[:1] not in OPENING + "`" or not body or _FORMATTED.match(body):
        if "{" in body and not _FORMATTED.match(body):
            into.add_payload(read_payload(raw, start, first, into.natural), (start, first))
            return after
        into.findings.append(_no_json(body, start, (tag, after)))
        into.unreadable((tag, after))
        return after
    best = read_payload(raw, start, first, into.natural)
    for stop in stops[1:]:
        other = read_payload(raw, start, stop, into.natural)
        if other.readable and not best.readable:
            best, after = other, stop + len(CLOSE)
            break
    whole = into.add_payload(best, (start, after))
    if not closes:
        into.note("tag_unclosed", (tag, limit), "tag_repair" if whole else "")
    return after


def _no_json(body: str, start: int, block: Span) -> Finding:
    if not body:
        return Finding("json_syntax.not_json", expected="a call", got="", span=block)
    if _FORMATTED.match(body) or _KEYED.match(body):
        return Finding("inner_format", expected="JSON", got=evidence(body), span=block)
    return unexplained(body, start, 0)


def read_bare(turn: Turn, tools: Tools, natural: bool) -> Reading:
    """The calls of a turn in the bare dialect, where hermes tags are the wrong ones. Never raises."""
    starts = turn.raw[turn.start : turn.start + 1]
    if OPEN not in turn.raw[turn.start : turn.end] or starts in ("{", "["):
        return read_untagged(turn, tools, natural, tagged=False)
    reading = read_hermes(turn, tools, natural)
    if not reading.attempt:
        return reading
    whole = all(call.arguments is not None for call in reading.calls)
    tag = turn.raw.find(OPEN, turn.start)
    wrong = Finding("tag_wrong", got=OPEN, span=(tag, tag + len(OPEN)), recovery="tag_repair" if whole else "")
    return replace(reading, findings=(*reading.findings, wrong))
