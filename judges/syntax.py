"""What is wrong with a text that is not JSON: the fewest edits of one kind that make it readable name the kind.

A diagnosis, not a repair: the edited text is thrown away, except for closers that only the very end lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalsets.records import Json
from judges.damage import Deviation, Stuck, lossless
from judges.edits import EDITS, Edit
from judges.relaxed_reader import RelaxedReader

_MAX_EDITS = 24  # of one kind
_CHEAPEST = (1, 1)  # one edit and nothing else: no later kind of edit can cost less
_BUDGET = 300_000  # characters read while searching; beyond it a text counts as unexplained


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found in a text that should hold one JSON value.

    `deviations` in the order of the text; none and not `explained` means that no rule explains the damage. `value`
    ends at offset `end` and may be used only where `readable`: every deviation is undone without loss. `tokens` is
    the number of JSON tokens before the first damage.
    """

    explained: bool
    deviations: tuple[Deviation, ...] = ()
    readable: bool = False
    value: Json = None
    end: int = 0
    tokens: int = 0


@dataclass(slots=True)
class _Attempt:
    text: str
    edits: list[Edit]
    reader: RelaxedReader
    stuck: Stuck | None = None
    value: Json = None


def diagnose(text: str, natural: bool) -> Diagnosis:
    """Read the first value of `text`, which starts with it, and say what is wrong with it.

    `natural`: the model is known to have ended by itself, so that closers missing at the very end are no cut.
    """
    first = _read(text, [])
    tokens = first.reader.tokens if first.reader.clean_tokens is None else first.reader.clean_tokens
    if first.stuck is None:
        found = tuple(sorted(first.reader.found, key=lambda d: d.start))
        return Diagnosis(True, found, _lossless(first), first.value, first.reader.position, tokens)
    best = _search(text, first)
    if best is None:
        return Diagnosis(False, end=len(text), tokens=tokens)
    deviations = tuple(sorted(_placed(text, best), key=lambda d: d.start))
    readable = natural and _only_closers(text, best) and _lossless(best)
    return Diagnosis(True, deviations, readable, best.value, len(text), tokens)


def surplus_closer(text: str, end: int) -> Deviation | None:
    """The closer that ended the value at `end` too early, if the whole text is one value without it."""
    closer = end - 1
    if closer < 0 or text[closer] not in "}]":
        return None
    attempt = _read(text[:closer] + text[closer + 1 :], [])
    done = attempt.stuck is None and not attempt.text[attempt.reader.position :].strip()
    return Deviation("extra_brace", closer, end) if done and not attempt.reader.found else None


def missing_opener(text: str) -> Deviation | None:
    """The brace that lacks at the start (and at the end), if the whole text is one object with it."""
    for whole in ("{" + text, "{" + text + "}"):
        attempt = _read(whole, [])
        if attempt.stuck is None and not attempt.reader.found:
            rest = whole[attempt.reader.position :].strip("}] \t\r\n")
            return None if rest else Deviation("missing_brace", 0, 1)
    return None


def _search(text: str, first: _Attempt) -> _Attempt | None:
    """The attempt with the fewest kinds of damage, then the fewest edits; the order of `EDITS` breaks ties."""
    budget = _BUDGET
    best: _Attempt | None = None
    if first.stuck is None or first.stuck.state in ("depth", "many"):
        return None
    for edit in EDITS:
        current, seen = first, 0
        while current.stuck is not None and seen < _MAX_EDITS and budget > 0:
            options = edit(current.text, current.stuck)[: max(1, budget // len(current.text))]
            attempts = _read_each(options, current.edits)
            budget -= sum(len(attempt.text) + 1 for attempt in attempts)
            if not attempts:
                break
            done = [attempt for attempt in attempts if attempt.stuck is None]
            current = min(done, key=_cost) if done else max(attempts, key=lambda a: a.stuck.position if a.stuck else 0)
            seen += 1
        if current.stuck is None and (best is None or _cost(current) < _cost(best)):
            best = current
            if _cost(best) == _CHEAPEST:
                break
    return best


def _read_each(options: Sequence[Edit], before: list[Edit]) -> list[_Attempt]:
    """The options read in their order, up to the first one that nothing can beat."""
    attempts: list[_Attempt] = []
    for option in options:
        attempts.append(_read(option.text, [*before, option]))
        if attempts[-1].stuck is None and _cost(attempts[-1]) == _CHEAPEST:
            break
    return attempts


def _cost(attempt: _Attempt) -> tuple[int, int]:
    kinds = {edit.kind for edit in attempt.edits} | {deviation.kind for deviation in attempt.reader.found}
    return len(kinds), sum(edit.changes for edit in attempt.edits) + len(attempt.reader.found)


def _read(text: str, edits: list[Edit]) -> _Attempt:
    reader = RelaxedReader(text)
    attempt = _Attempt(text, edits, reader)
    try:
        attempt.value = reader.value()
        if edits and text[reader.position :].strip():
            raise Stuck(reader.position, "tail", "", reader.last_string)
    except Stuck as stuck:
        attempt.stuck = stuck.with_traceback(None)  # which would hold the attempt in a cycle
    return attempt


def _lossless(attempt: _Attempt) -> bool:
    return lossless(attempt.text, attempt.reader.found, attempt.reader.json_words)


def _placed(text: str, attempt: _Attempt) -> list[Deviation]:
    """Edits and deviations with their offsets in `text`, as it was before the edits."""
    edits = attempt.edits
    places = [_original(edit.position, edits[:done]) for done, edit in enumerate(edits)]
    found = [Deviation(edit.kind, place, place + 1) for edit, place in zip(edits, places, strict=True)]
    for deviation in attempt.reader.found:
        start, end = _original(deviation.start, edits), _original(deviation.end, edits)
        if deviation.kind == "trailing_comma" and not text[end:].strip():
            continue  # a text that was cut after a comma: the closer behind it is made up
        found.append(Deviation(deviation.kind, start, end, deviation.lossless))
    return found


def _original(place: int, edits: list[Edit]) -> int:
    """The offset before the edits of a place after them."""
    for edit in reversed(edits):
        if place > edit.position:
            place = max(edit.position, place - edit.grown)
    return place


def _only_closers(text: str, attempt: _Attempt) -> bool:
    """Whether closers at the very end are all that lacks, and the last token is not one that may have been cut."""
    written = text.rstrip()
    if not attempt.text.startswith(written) or attempt.text[len(written) :].strip(" \t\r\n}]"):
        return False
    return written.endswith(('"', "}", "]", "true", "false", "null", "True", "False", "None"))
