"""Edits that may explain where a reader got stuck: closers, quotes, commas and colons put right, one at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from judges.damage import Stuck
from judges.json_reader import decode

_CLOSERS = {"{": "}", "[": "]"}
_STRUCTURE = re.compile(r"(?<!\s)\s*+[:,}\]]")  # never tried from within white space, which would be quadratic
_ENCODED = re.compile(r":\s*\"(?=[{\[]\s*[\"{\]}])")  # a string that begins with JSON
_OPENED = re.compile(r"[:\[,]\s*+\"")  # a string that is a value
_CLOSED = re.compile(r"\"(?=\s*+(?:[}\]]|,\s*+[\"{\[}\]]))")
_QUOTE = re.compile(r"(?<!\\)\"")
_MAX_OPENINGS = 3  # strings before a place that may have been closed too early
_MAX_PLACES = 6  # where a missing quote may belong, counted from either end of the string


@dataclass(frozen=True, slots=True)
class Edit:
    """A text after an edit. `position` is where it was edited, `grown` by how many characters it became longer,
    `changes` the number of single edits in it."""

    kind: str
    text: str
    position: int
    grown: int
    changes: int = 1


Editor = Callable[[str, Stuck], list[Edit]]


def missing_comma(text: str, stuck: Stuck) -> list[Edit]:
    """A comma between two members or items."""
    if stuck.state not in ("object", "array") or stuck.position >= len(text) or text[stuck.position] in "}]:":
        return []
    return [_insert("missing_comma", text, stuck.position, ",")]


def missing_colon(text: str, stuck: Stuck) -> list[Edit]:
    """A colon between a key and its value, in place of a comma or of nothing."""
    if stuck.state != "colon" or stuck.position >= len(text) or text[stuck.position] in "}]":
        return []
    at = stuck.position
    if text[at] == ",":
        return [Edit("missing_colon", text[:at] + ":" + text[at + 1 :], at, 0)]
    return [_insert("missing_colon", text, at, ":")]


def bracket_order(text: str, stuck: Stuck) -> list[Edit]:
    """Two closers in the wrong order, or a closer of the wrong sort."""
    at = stuck.position
    if not _wrong_closer(text, stuck):
        return []
    wanted = _CLOSERS[stuck.opened[-1]]
    edits = []
    following = next((place for place in range(at + 1, len(text)) if not text[place].isspace()), None)
    if following is not None and text[following] == wanted:
        swapped = text[:at] + wanted + text[at + 1 : following] + text[at] + text[following + 1 :]
        edits.append(Edit("bracket_order", swapped, at, 0))
    edits.append(Edit("bracket_order", text[:at] + wanted + text[at + 1 :], at, 0))
    return edits


def missing_brace(text: str, stuck: Stuck) -> list[Edit]:
    """The closers that the end lacks, or one before a closer of the other sort or before a member in an array; the
    opener before a member that stands in the place of a value."""
    at = stuck.position
    if at >= len(text) and stuck.opened and stuck.state != "string":
        # Cut inside a member: the rest of it is made up as well, which no one may read.
        rest = {"colon": ": null", "value": "null"}.get(stuck.state, "")
        closers = "".join(_CLOSERS[opener] for opener in reversed(stuck.opened))
        return [_insert("missing_brace", text, len(text.rstrip()), rest + closers)]
    if _wrong_closer(text, stuck):
        return [_insert("missing_brace", text, at, _CLOSERS[stuck.opened[-1]])]
    if stuck.state == "array" and text[at : at + 1] == ":" and stuck.last_string:
        comma = text.rfind(",", 0, stuck.last_string[0])
        return [_insert("missing_brace", text, comma, "]")] if comma > 0 else []
    if stuck.state == "object" and text[at : at + 1] == ":" and stuck.last_string and not _gap(text, stuck):
        return [_insert("missing_brace", text, stuck.last_string[0], "{")]
    return []


def extra_brace(text: str, stuck: Stuck) -> list[Edit]:
    """A closer that nothing is open for, or an opener where a key should stand."""
    at = stuck.position
    surplus = _wrong_closer(text, stuck) or (stuck.state == "key" and text[at : at + 1] == "{")
    if surplus or (stuck.state == "tail" and text[at:].lstrip()[:1] in ("}", "]")):
        at += len(text[at:]) - len(text[at:].lstrip())
        return [Edit("extra_brace", text[:at] + text[at + 1 :], at, -1)]
    return []


def missing_quote(text: str, stuck: Stuck) -> list[Edit]:
    """A closing quote: inside the string that ran on, before something structural, or at the end of the text."""
    if stuck.state == "string":
        start, end = stuck.position, len(text)
    elif stuck.last_string and stuck.state in ("object", "array", "colon") and not _gap(text, stuck):
        start, end = stuck.last_string
    else:
        return []
    places = [match.start() for match in _STRUCTURE.finditer(text, start + 1, end)]
    if len(places) > 2 * _MAX_PLACES:
        places = places[:_MAX_PLACES] + places[-_MAX_PLACES:]
    quote = text[start] if text[start] in "\"'" else '"'
    edits = [_insert("missing_quote", text, place, quote) for place in places]
    if stuck.state == "string":
        edits.append(_insert("missing_quote", text, len(text.rstrip()), quote))
    return edits


def unescaped_quote(text: str, stuck: Stuck) -> list[Edit]:
    """Quotes inside a string that should have been escaped: the one that closed the string before this place, or all
    of those in JSON that was put into a string as it is."""
    if stuck.last_string is None or stuck.position >= len(text):
        return []
    edits = []
    if encoded := _ENCODED.search(text):
        inside = decode(text, encoded.end())
        if inside and text.startswith('"', inside[1]):
            start, end = encoded.end(), inside[1]
            escaped = text[start:end].replace("\\", "\\\\").replace('"', '\\"')
            edits.append(
                Edit("unescaped_quote", text[:start] + escaped + text[end:], start, len(escaped) - (end - start))
            )
    if not _gap(text, stuck) and stuck.state in ("object", "array", "colon"):
        edits.append(_insert("unescaped_quote", text, stuck.last_string[1] - 1, "\\"))
    return edits


def unescaped_quotes(text: str, stuck: Stuck) -> list[Edit]:
    """All the quotes inside a value that should have been escaped, up to one that structure follows."""
    openings = [match.end() for match in _OPENED.finditer(text, 0, stuck.position)][-_MAX_OPENINGS:]
    closings = islice(_CLOSED.finditer(text, stuck.position), _MAX_PLACES)
    spans = [(start, close.start()) for close in closings for start in openings]
    return [_escaped(text, start, end) for start, end in spans]


def cut_string(text: str, stuck: Stuck) -> list[Edit]:
    """A string that the end of the text leaves open: its quote first, then the closers of what is open around it."""
    if stuck.state == "string" and stuck.opened:
        return [_insert("missing_quote", text, len(text), text[stuck.position] if text[stuck.position] == "'" else '"')]
    return missing_brace(text, stuck)


EDITS: tuple[Editor, ...] = (
    missing_comma,
    missing_colon,
    bracket_order,
    missing_brace,
    extra_brace,
    missing_quote,
    unescaped_quote,
    unescaped_quotes,
    cut_string,
)


def _insert(kind: str, text: str, at: int, piece: str) -> Edit:
    return Edit(kind, text[:at] + piece + text[at:], at, len(piece))


def _escaped(text: str, start: int, end: int) -> Edit:
    """The quotes of a stretch escaped, those aside that are."""
    escaped, count = _QUOTE.subn('\\\\"', text[start:end])
    return Edit("unescaped_quote", text[:start] + escaped + text[end:], start, count, count)


def _wrong_closer(text: str, stuck: Stuck) -> bool:
    found = text[stuck.position : stuck.position + 1]
    return bool(stuck.opened) and found in ("}", "]") and found != _CLOSERS[stuck.opened[-1]]


def _gap(text: str, stuck: Stuck) -> bool:
    """Whether anything but white space lies between the last string and the place."""
    return bool(stuck.last_string and text[stuck.last_string[1] : stuck.position].strip())
