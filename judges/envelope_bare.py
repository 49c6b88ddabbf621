"""Calls without the dialect's tags: a whole message of JSON, one fence, other tags, JSON inside prose.

For the `bare` dialect a JSON object that is the whole message, or one fence with it, is the expected form. For a
tagged dialect the same text lacks its tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from evalsets.records import Json
from judges.call_shape import Reading, Tools, is_call_shaped
from judges.collector import Collector
from judges.findings import Finding, evidence
from judges.json_reader import decode, skip
from judges.payload import NEXT_VALUE, OPENING, read_payload
from judges.turn import THINK, UNTHINK, Turn

# Tags of other models' call formats. What follows one is an attempt to call, whatever it holds.
_FOREIGN = re.compile(
    r"<\|?(?:tool_?calls?|function_?calls?|tool_use)(?:\s[^<>\n]{0,80})?\|?>|<function[= ][^<>\n]{1,80}>"
    r"|<invoke[ =][^<>\n]{1,80}>|<\|tool_calls?(?:_section)?_begin\|>|<｜tool▁calls?▁begin｜>|<\|python_tag\|>"
    r"|\[TOOL_CALLS?\]|✿FUNCTION✿",
    re.IGNORECASE,
)
_XML_CALL = re.compile(r"<(?:function|invoke)[= ]", re.IGNORECASE)
_TAG_BEFORE = re.compile(r"(?:<[^<>\s]{1,40}>|\[[A-Z_]{3,20}\])\s*\Z")
_CLOSING = re.compile(r"\s*(?:</[^<>\n]{1,40}>|<[|｜][^<>\n]{1,40}[|｜]>|\[/[A-Z_]{3,20}\])\s*\Z", re.IGNORECASE)
_FENCED = re.compile(r"```[ \t]*[\w+-]*[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL)
_NAMED = re.compile(r"[\"'“]?\bname[\"'”]?\s*[:：=]\s*[\"'“]?([\w.-]+)")
_ARGUED = re.compile(r"\b(?:arguments|parameters)\b")
_MAX_TRIES = 20  # places in prose where a call-shaped object is looked for


@dataclass(frozen=True, slots=True)
class _Found:
    """A stretch that holds an attempt. `alone`: nothing else is said in the message."""

    wrapping: str  # whole, fence, tag, prose
    start: int
    end: int
    alone: bool


def read_untagged(turn: Turn, tools: Tools, natural: bool, tagged: bool) -> Reading:
    """The calls of a turn that has none of the dialect's tags; `tagged` says that the dialect wants some."""
    raw, into = turn.raw, Collector(tools, natural)
    start, end = turn.start, _before_closing_tags(turn)
    found = _find(raw, start, end, tools)
    if found is None:
        return into.reading(attempt=False)
    span = (found.start, found.end)
    if found.wrapping == "tag" and raw[skip(raw, found.start)] not in OPENING + "`" if found.start < end else False:
        into.findings.append(Finding("inner_format", got=evidence(raw[found.start : end]), span=(start, end)))
        into.unreadable(span)
        return into.reading()
    payload = read_payload(raw, found.start, found.end, natural)
    if found.wrapping in ("whole", "prose"):
        payload = replace(payload, findings=tuple(_as_prose(finding) for finding in payload.findings))
    whole = into.add_payload(payload, span)
    _note_wrapping(into, found, tagged, whole, raw[start : found.start].strip())
    surrounded = not found.alone and not (tagged and found.wrapping == "tag")
    if surrounded and not any(finding.kind == "text_around" for finding in into.findings):
        into.note("text_around", (start, end), "text_around" if whole else "")
    if not tagged and end < turn.end and found.wrapping != "tag":
        into.note("stray_close_tag", (end, turn.end), "tag_repair" if whole else "")
    if turn.open_think:
        complete = whole and not raw[found.end : end].replace("```", "").strip()
        into.note("in_think", (start, end), "think_ends_in_call" if complete else "")
    return into.reading(example=found.wrapping in ("prose", "fence") and not found.alone)


def _note_wrapping(into: Collector, found: _Found, tagged: bool, whole: bool, before: str) -> None:
    span, repair = (found.start, found.end), "tag_repair" if whole else ""
    if found.wrapping == "tag":
        into.note("tag_wrong", span, repair, evidence(before[-40:]))
    elif tagged and found.wrapping == "fence":
        into.note("markdown_fence", span, "one_fence")
    elif tagged:
        into.note("tag_missing", span, repair)


def _as_prose(finding: Finding) -> Finding:
    """Text after a payload is prose around it where the payload is not inside tags."""
    return replace(finding, kind="text_around") if finding.kind == "json_syntax.trailing_text" else finding


def _before_closing_tags(turn: Turn) -> int:
    end = turn.end
    while (closing := _CLOSING.search(turn.raw, max(turn.start, end - 100), end)) and closing.start() > turn.start:
        end = closing.start()
    return end


def _find(raw: str, start: int, end: int, tools: Tools) -> _Found | None:
    """The stretch of `raw[start:end]` that is an attempt to call, or None."""
    starts = raw[start : start + 1] in ("{", "[", "｛", "［") and not _FOREIGN.match(raw, start, end)
    if starts and _attempted(raw, start, end, tools, whole=True):
        return _Found("whole", start, end, True)
    for fence in _FENCED.finditer(raw, start, end):
        alone = not raw[start : fence.start()].strip() and not raw[fence.end() : end].strip()
        if _attempted(raw, fence.start(1), fence.end(1), tools, whole=alone):
            return _Found("fence", fence.start(1), fence.end(1), alone)
    for tag in _FOREIGN.finditer(raw, start, end):
        if not _thought(raw, start, tag.start(), end):
            inner = tag.start() if _XML_CALL.match(tag.group()) else tag.end()
            return _Found("tag", inner, end, not raw[start : tag.start()].strip())
    return _in_prose(raw, start, end, tools)


def _in_prose(raw: str, start: int, end: int, tools: Tools) -> _Found | None:
    position = start
    for _ in range(_MAX_TRIES):
        places = [place for place in (raw.find("{", position, end), raw.find("[", position, end)) if place >= 0]
        if not places:
            return None
        place = min(places)
        if _attempted(raw, place, end, tools, whole=False) and not _thought(raw, start, place, end):
            tag = _TAG_BEFORE.search(raw, max(start, place - 60), place)
            if tag:
                return _Found("tag", place, end, not raw[start : tag.start()].strip())
            return _Found("prose", place, end, False)
        position = place + 1
    return None


def _attempted(raw: str, start: int, end: int, tools: Tools, whole: bool) -> bool:
    """Whether call-shaped JSON starts here, well-formed or not.

    Unless it is the whole message it has to name a declared tool.
    """
    start = skip(raw, start)
    if start >= end or raw[start] not in OPENING:
        return False
    position, items = start, list[Json]()
    for value, after in _row(raw, start, end):
        position = after
        items += value if isinstance(value, list) else [value]
    shaped = [item for item in items if is_call_shaped(item)]
    if any(isinstance(item, dict) and item["name"] in tools for item in shaped):
        return True
    if position > start and not raw[position:end].strip():
        return whole and bool(shaped)
    text = raw[position:end]
    name = _NAMED.search(text) if position == start else None
    return bool(name and _ARGUED.search(text) and (whole or name.group(1) in tools))


def _row(raw: str, start: int, end: int) -> Iterator[tuple[Json, int]]:
    """The JSON values in a row from `start` on, each with the offset after it."""
    while (found := decode(raw, start)) and found[1] <= end:
        yield found
        following = NEXT_VALUE.match(raw, found[1], end)
        if following is None or following.end() >= end:
            return
        start = following.end()


def _thought(raw: str, start: int, place: int, end: int) -> bool:
    """Whether a place lies inside a think block that is closed."""
    opened = raw.rfind(THINK, start, place)
    return opened >= 0 and raw.rfind(UNTHINK, opened, place) < 0 and raw.find(UNTHINK, place, end) >= 0
