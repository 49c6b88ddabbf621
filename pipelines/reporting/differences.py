"""Where an answer differs from the baseline's, and the part of both that is shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pipelines.reporting.text import CLOSE, OPEN, fenced, said_cut, spelled, window

Span = tuple[int, int]

ANSWER_LIMIT = 1500  # characters of an answer that are shown
LEAD = 300  # of them before the first difference, where that lies deep inside
COMPARED = 4 * ANSWER_LIMIT  # characters that are compared; the matcher takes quadratic time
ALIKE = 0.4  # below this ratio two middles have nothing in common that is worth showing
# Words, digit groups and white space are units; anything else, Chinese included, goes by characters.
UNIT = re.compile(r"[A-Za-z_]+|[0-9]+|\s+|.", re.DOTALL)


@dataclass(frozen=True)
class Piece:
    """A stretch of an answer as it is shown, spelled; an empty marked one is where something was left out."""

    text: str
    marked: bool


@dataclass(frozen=True)
class View:
    """The part of an answer that is shown: its pieces in order, and which offsets of how many they are."""

    pieces: Sequence[Piece]
    start: int
    end: int
    length: int


@dataclass(frozen=True)
class Shown:
    """The two answers as Markdown: a fence each, and above it what was cut."""

    baseline: str
    candidate: str


def side_by_side(baseline: str, candidate: str) -> Shown:
    """Both answers as Markdown, the candidate's with the differing spans marked."""
    old, new = views(baseline, candidate)
    return Shown(baseline=_fence(old), candidate=_fence(new))


def views(baseline: str, candidate: str) -> tuple[View, View]:
    """Both answers from the same offset on, the candidate's with the differing spans marked."""
    first = _common(baseline, candidate)
    start = max(0, first - LEAD) if first > ANSWER_LIMIT - LEAD else 0
    spans = differing(baseline[start : start + COMPARED], candidate[start : start + COMPARED])
    return _view(baseline, start, []), _view(candidate, start, [(a + start, b + start) for a, b in spans])


def differing(baseline: str, candidate: str) -> list[Span]:
    """Offsets into `candidate` of what `baseline` does not have there, in order.

    An empty span is a place where something of the baseline's was left out. Answers with little in common get one
    span between their common beginning and end.
    """
    if baseline == candidate:
        return []
    old, new = UNIT.findall(baseline), UNIT.findall(candidate)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    offsets = [0]
    for unit in new:
        offsets.append(offsets[-1] + len(unit))
    matcher = SequenceMatcher(None, old_middle, new_middle)
    if matcher.ratio() < ALIKE:
        return [(offsets[head], offsets[head + len(new_middle)])]
    return [
        (offsets[head + first], offsets[head + last])
        for kind, _, _, first, last in matcher.get_opcodes()
        if kind != "equal"
    ]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many elements two sequences share at their beginning."""
    unequal = (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(unequal, min(len(one), len(other)))


def _view(text: str, start: int, spans: list[Span]) -> View:
    end = window(text, start, ANSWER_LIMIT)
    pieces, done = [], start
    for first, last in spans:
        if first >= end < len(text):
            break  # beyond what is shown
        pieces += [Piece(spelled(text[done:first]), False), Piece(spelled(text[first : min(last, end)]), True)]
        done = min(last, end)
    pieces.append(Piece(spelled(text[done:end]), False))
    return View(pieces, start, end, len(text))


def _fence(shown: View) -> str:
    if not shown.length:
        return "(empty)"
    text = "".join(f"{OPEN}{piece.text}{CLOSE}" if piece.marked else piece.text for piece in shown.pieces)
    return said_cut(shown.start, shown.end, shown.length) + fenced(text)
