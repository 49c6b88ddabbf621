"""Calls without the dialect's tags: a whole message of JSON, one fence, other tags, JSON inside prose.

For the `bare` dialect a JSON object that is the whole message, or one fence with it, is the expected form. For a
tagged dialect the same text lacks its tags.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from judges.call_shape import Reading, Tools, is_call_shaped
from judges.collector import Collector
from judges.findings import Finding, Span, evidence
from judges.json_reader import decode, skip
from judges.payload import OPENING, Payload, read_payload
from judges.turn import UNTHINK, Turn

# Tags of other models' call formats. What follows one is an attempt to call, whatever it holds.
_FOREIGN = re.compile(
    r"<\|?/?(?:tool_?calls?|function_?calls?|functions?|tool_use|invoke|toolcall|tool)(?:[\s=][^<>\n]{0,80})?\|?>"
    r"|<\|tool_calls?(?:_section)?_begin\|>|<｜tool▁calls?▁begin｜>|<\|python_tag\|>|\[TOOL_CALLS?\]|✿FUNCTION✿",
    re.IGNORECASE,
)
_TOOLS_TAG = re.compile(r"<tools>", re.IGNORECASE)
_CLOSING = re.compile(r"\s*(?:</[^<>\n]{1,40}>|<[|｜][^<>\n]{1,40}[|｜]>|\[/TOOL_CALLS?\])\s*\Z", re.IGNORECASE)
_FENCED = re.compile(r"```[ \t]*[\w+-]*[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL)
_NAMED = re.compile(r"[\"'“]?\bname[\"'”]?\s*[:：=]\s*[\"'“]?([\w.-]+)")
_ARGUED = re.compile(r"[\"'“]?\b(?:arguments|parameters)[\"'”]?\s*[:：=]?")
_MAX_TRIES = 20  # places in prose where a call-shaped object is looked for


@dataclass(frozen=True, slots=True)
class _Found:
    """A stretch that may hold calls: its span, how it is wrapped, and whether it is all that the message says."""

    span: Span
    wrapping: str  # whole, fence, tag, prose
    alone: bool


def read_untagged(turn: Turn, tools: Tools, natural: bool, tagged: bool) -> Reading:
    """The calls of a turn that has none of the dialect's tags; `tagged` says that the dialect wants some."""
    raw = turn.raw
    into = Collector(tools, natural)
    start, end = turn.start, turn.end
    closing = _CLOSING.search(raw, start, end)
    while closing and closing.start() > start:
        end = closing.start()
        closing = _CLOSING.search(raw, start, end)
    found = _find(raw, start, end, tools)
    if found is None:
        return into.reading(attempt=False)
    payload = read_payload(raw, *found.span, natural)
    whole = _add(into, payload, found)
    repair = "tag_repair" if whole else ""
    if found.wrapping == "tag":
        into.note("tag_wrong", (start, found.span[0]), repair, evidence(raw[start : found.span[0]].strip()))
    elif tagged and found.wrapping != "fence":
        into.note("tag_missing", found.span, repair)
    elif tagged:
        into.note("markdown_fence", found.span, "one_fence")
    if not found.alone and not (tagged and found.wrapping == "tag"):
        into.note("text_around", (start, end), "text_around" if whole else "")
    if not tagged and end < turn.end and found.wrapping != "tag":
        into.note("stray_close_tag", (end, turn.end), repair)
    if turn.open_think:
        ends = whole and not raw[found.span[1] : end].replace("```", "").strip()
        into.note("in_think", (start, end), "think_ends_in_call" if ends else "")
    return into.reading(example=found.wrapping in ("prose", "fence") and not found.alone)


def _add(into: Collector, payload: Payload, found: _Found) -> bool:
    shaped = all(is_call_shaped(item) for value, _ in payload.values for item in _items(value))
    if found.wrapping == "tag" and payload.readable and not shaped:
        into.findings.append(Finding("inner_format", expected="name and arguments", span=found.span))
        into.unreadable(found.span)
        return False
    return into.add_payload(payload, found.span)


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _find(raw: str, start: int, end: int, tools: Tools) -> _Found | None:
    """The stretch of `raw[start:end]` that is an attempt to call, or None."""
    if raw[start : start + 1] in ("{", "[", '"', "｛", "［") and _attempted(raw, start, end, tools, whole=True):
        return _Found((start, end), "whole", True)
    fences = [match for match in _FENCED.finditer(raw, start, end)]
    for fence in fences:
        alone = not (raw[start : fence.start()] + raw[fence.end() : end]).strip()
        if _attempted(raw, fence.start(1), fence.end(1), tools, whole=alone):
            return _Found((fence.start(1), fence.end(1)), "fence", alone)
    tag = _FOREIGN.search(raw, start, end)
    while tag and (UNTHINK in raw[tag.end() : end] and "<think>" in raw[start : tag.start()]):
        tag = _FOREIGN.search(raw, raw.find(UNTHINK, tag.end()), end)
    if tag:
        return _Found((tag.end(), end), "tag", not raw[start : tag.start()].strip())
    tag = _TOOLS_TAG.search(raw, start, end)
    if tag and _attempted(raw, skip(raw, tag.end()), end, tools, whole=True):
        return _Found((tag.end(), end), "tag", not raw[start : tag.start()].strip())
    return _in_prose(raw, start, end, tools)


def _in_prose(raw: str, start: int, end: int, tools: Tools) -> _Found | None:
    position = start
    for _ in range(_MAX_TRIES):
        brace = min((at for at in (raw.find("{", position, end), raw.find("[", position, end)) if at >= 0), default=-1)
        if brace < 0:
            return None
        if _attempted(raw, brace, end, tools, whole=False):
            found = decode(raw, brace)
            return _Found((brace, end), "prose", brace == start and bool(found) and not raw[found[1] : end].strip()
                          if found else False)
        position = brace + 1
    return None


def _attempted(raw: str, start: int, end: int, tools: Tools, whole: bool) -> bool:
    """Whether call-shaped JSON starts here: an object or a list of them, well-formed or not.

    Unless it is the whole message it has to name a declared tool.
    """
    start = skip(raw, start)
    if start >= end or raw[start] not in OPENING:
        return False
    found = decode(raw, start)
    if found and found[1] <= end:
        items = [item for item in _items(found[0]) if is_call_shaped(item)]
        named = any(isinstance(item, dict) and item.get("name") in tools for item in items)
        return bool(items) if whole and not raw[found[1] : end].strip() else named
    text = raw[start:end]
    name = _NAMED.search(text)
    return bool(name and _ARGUED.search(text) and (whole or name.group(1) in tools))
