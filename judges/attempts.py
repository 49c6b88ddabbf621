"""Where a message without its dialect's tags attempts a call: as a whole, in a fence, in other tags, inside prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from evalsets.records import Json
from judges.call_shape import Tools, is_call_shaped
from judges.findings import Span
from judges.json_reader import decode, skip
from judges.payload import NEXT_VALUE, OPENING
from judges.turn import THINK, UNTHINK

# Tags of other models' call formats. What follows one is an attempt to call, whatever it holds.
_FOREIGN = re.compile(
    r"<\|?(?:tool_?calls?|function_?calls?|tool_use)(?:\s[^<>\n]{0,80})?\|?>|<function[= ][^<>\n]{1,80}>"
    r"|<invoke[ =][^<>\n]{1,80}>|<\|tool_calls?(?:_section)?_begin\|>|<｜tool▁calls?▁begin｜>|<\|python_tag\|>"
    r"|\[TOOL_CALLS?\]|✿FUNCTION✿|<tool_code>|```tool_code\b|<｜DSML｜(?:function_calls|invoke)[^<>\n]{0,80}>"
    r"|<\|channel\|>[a-z]{0,20} to=",
    re.IGNORECASE,
)
_XML_CALL = re.compile(r"<(?:function|invoke)[= ]", re.IGNORECASE)
_TAG_BEFORE = re.compile(r"(?:<(?!think>)[^<>/\s][^<>\s]{0,40}>|\[[A-Z_]{3,20}\])\s*\Z")
_CLOSING = re.compile(
    r"\s*(?:</(?!think>)[^<>\n]{1,40}>|<[|｜][^<>\n]{1,40}[|｜]>|\[/[A-Z_]{3,20}\])\s*\Z", re.IGNORECASE
)
_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*(?:\r?\n|(?=[{\[｛［]))")
_NAMED = re.compile(r"[\"'“]?\bname[\"'”]?\s*[:：=]\s*[\"'“]?([\w.-]+)")
_ARGUED = re.compile(r"\b(?:arguments|parameters)\b")
_MAX_TRIES = 20  # places in prose where a call-shaped object is looked for


@dataclass(frozen=True, slots=True)
class Attempt:
    """Stretches of text that hold calls, and how they are wrapped. `alone`: nothing else is said in the message."""

    wrapping: Literal["whole", "fence", "tag", "prose"]
    spans: tuple[Span, ...]
    alone: bool


def find_attempt(raw: str, start: int, end: int, tools: Tools) -> Attempt | None:
    """The attempt to call in `raw[start:end]`, or None."""
    starts = raw[start : start + 1] in ("{", "[", "｛", "［") and not _FOREIGN.match(raw, start, end)
    if starts and _attempted(raw, start, end, tools, whole=True):
        return Attempt("whole", ((start, end),), True)
    first = end - len(raw[start:end].lstrip())
    for opening, span, after in _fences(raw, start, end):
        alone = opening <= first and not raw[after:end].strip()
        if _attempted(raw, *span, tools, whole=alone):
            return Attempt("fence", (span,), alone)
    if tag := _foreign_tag(raw, start, end):
        alone = not raw[start : tag.start()].strip()
        if _XML_CALL.match(tag.group()):
            return Attempt("tag", ((tag.start(), end),), alone)
        return Attempt("tag", tuple(_blocks(raw, tag.group(), tag.end(), end)), alone)
    return _in_prose(raw, start, end, tools)


def _foreign_tag(raw: str, start: int, end: int) -> re.Match[str] | None:
    """The first tag of another format outside closed think blocks, each of which is passed at once."""
    position = start
    while tag := _FOREIGN.search(raw, position, end):
        close = thought(raw, start, tag.start(), end)
        if close is None:
            return tag
        position = close
    return None


def before_closing_tags(raw: str, start: int, end: int) -> int:
    """The offset in `raw[start:end]` before the closing tags that end it."""
    while (closing := _CLOSING.search(raw, max(start, end - 100), end)) and closing.start() > start:
        end = closing.start()
    return end


def _fences(raw: str, start: int, end: int) -> Iterator[tuple[int, Span, int]]:
    """Each fence: the offset where it opens, the span inside it, the offset after it. A value may contain fences."""
    while opening := _FENCE.search(raw, start, end):
        inside = skip(raw, opening.end())
        found = decode(raw, inside)
        close = raw.find("```", found[1] if found else opening.end(), end)
        start = close + 3 if close >= 0 else end
        yield opening.start(), (opening.end(), close if close >= 0 else end), start


def _blocks(raw: str, tag: str, start: int, end: int) -> Iterator[Span]:
    """The insides of the blocks that `tag` opens, the first at `start`, without their closing tags."""
    while True:
        found = decode(raw, skip(raw, start))
        following = raw.find(tag, found[1] if found else start, end)
        stop = following if following >= 0 else end
        yield start, before_closing_tags(raw, start, stop)
        if following < 0:
            return
        start = following + len(tag)


def _in_prose(raw: str, start: int, end: int, tools: Tools) -> Attempt | None:
    position = start
    for _ in range(_MAX_TRIES):
        places = [place for place in (raw.find("{", position, end), raw.find("[", position, end)) if place >= 0]
        if not places:
            return None
        place = min(places)
        if _attempted(raw, place, end, tools, whole=False) and thought(raw, start, place, end) is None:
            tag = _TAG_BEFORE.search(raw, max(start, place - 60), place)
            if tag:
                alone = not raw[start : tag.start()].strip()
                return Attempt("tag", tuple(_blocks(raw, tag.group().strip(), place, end)), alone)
            return Attempt("prose", ((place, end),), False)
        position = place + 1
    return None


def _attempted(raw: str, start: int, end: int, tools: Tools, whole: bool) -> bool:
    """Whether call-shaped JSON starts here, well-formed or not.

    Unless it is the whole message it has to name a declared tool. A call inside another JSON value counts: that value
    is its wrapping, no prose.
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
    if any(_holds_call(item, tools) for item in items if not is_call_shaped(item)):
        return True
    if position > start and not raw[position:end].strip():
        return whole and bool(shaped)
    text = raw[position:end]
    name = _NAMED.search(text) if position == start else None
    return bool(name and _ARGUED.search(text) and (whole or name.group(1) in tools))


def _holds_call(value: Json, tools: Tools) -> bool:
    """Whether a call of a declared tool lies somewhere inside a value that is none itself."""
    if isinstance(value, dict) and is_call_shaped(value) and value["name"] in tools:
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_holds_call(item, tools) for item in inner)


def _row(raw: str, start: int, end: int) -> Iterator[tuple[Json, int]]:
    """The JSON values in a row from `start` on, each with the offset after it."""
    while (found := decode(raw, start)) and found[1] <= end:
        yield found
        following = NEXT_VALUE.match(raw, found[1], end)
        if following is None or following.end() >= end:
            return
        start = following.end()


def thought(raw: str, start: int, place: int, end: int) -> int | None:
    """Where the think block that a place lies in is closed; None outside such blocks, and in one never closed."""
    opened = raw.rfind(THINK, start, place)
    if opened < 0 or raw.rfind(UNTHINK, opened, place) >= 0:
        return None
    close = raw.find(UNTHINK, place, end)
    return close if close >= 0 else None
