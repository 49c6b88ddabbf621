"""Whether a text answers a question, by the five match kinds of `evalsets.items`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

from evalsets.items import ChoiceMatch, ContainsMatch, Normaliser, NumericMatch, QaItem, SetMatch
from judges.findings import Finding, evidence
from judges.json_reader import number
from judges.normalise import normalise
from judges.number_classes import within

# A sign belongs to a number only where nothing that could be a range, a date or an id stands before it.
_NUMBER = re.compile(r"(?<![0-9A-Za-z.])(?:(?<![-/])[-−+])?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+(?![0-9A-Za-z]))?")
_MAX_ANSWER = 20_000  # characters of an answer that are searched


def check_answer(item: QaItem, text: str) -> Finding | None:
    """What is wrong with an answer: `no_answer`, `several_answers`, `answer_wrong`, or None where it is right."""
    match = item.match
    answer = _clean(text[:_MAX_ANSWER], match.normalisers)
    if isinstance(match, NumericMatch):
        return _numeric(item.answers, match, answer)
    if isinstance(match, ChoiceMatch):
        return _choice(item.answers, match, answer)
    if not answer.strip():
        return _wrong("no_answer", item.answers, text)
    if isinstance(match, ContainsMatch):
        right = _contains(item.answers, match, answer)
    elif isinstance(match, SetMatch):
        right = _members(answer, match) == {_clean(gold, match.normalisers) for gold in item.answers}
    else:
        right = any(answer == _clean(gold, match.normalisers) for gold in item.answers)
    return None if right else _wrong("answer_wrong", item.answers, answer)


def _clean(text: str, normalisers: Sequence[Normaliser]) -> str:
    return unicodedata.normalize("NFC", normalise(text, normalisers))


def _wrong(kind: str, answers: Sequence[str], got: str) -> Finding:
    return Finding(kind, expected=evidence(" | ".join(answers)), got=evidence(got.strip()))


def _numeric(answers: Sequence[str], match: NumericMatch, answer: str) -> Finding | None:
    found = [piece.group() for piece in _NUMBER.finditer(answer)]
    if not found:
        return _wrong("no_answer", answers, answer)
    if len(found) > 1:
        return _wrong("several_answers", answers, answer)
    units = sorted((_clean(unit, match.normalisers) for unit in match.units), key=len, reverse=True)
    if match.find == "whole" and not _is_quantity(answer.strip(), found[0], units):
        return _wrong("answer_wrong", answers, answer)
    value, tolerance = _decimal(found[0]), Decimal(match.tolerance)
    for gold in answers:
        wanted = _NUMBER.search(_clean(gold, match.normalisers))
        if wanted and within(value, _decimal(wanted.group()), tolerance):
            return None
    return _wrong("answer_wrong", answers, answer)


def _is_quantity(answer: str, found: str, units: Sequence[str]) -> bool:
    """Whether an answer is the number with at most one unit on either side, and nothing else."""
    before, _, after = answer.partition(found)
    return before.strip() in ("", *units) and after.strip() in ("", *units)


def _decimal(literal: str) -> Decimal:
    literal = literal.replace("−", "-").removeprefix("+")
    return Decimal(number(literal))


def _choice(answers: Sequence[str], match: ChoiceMatch, answer: str) -> Finding | None:
    options = {_clean(option, match.normalisers) for option in match.options} - {""}
    longest = sorted(options, key=lambda option: (-len(option), option))
    chosen = set()
    for piece in re.finditer("|".join(re.escape(option) for option in longest) or r"(?!)", answer):
        if _alone(answer, piece.start(), piece.end()):
            chosen.add(piece.group())
    if not chosen:
        return _wrong("no_answer", answers, answer)
    if len(chosen) > 1:
        return _wrong("several_answers", answers, answer)
    right = chosen & {_clean(gold, match.normalisers) for gold in answers}
    return None if right else _wrong("answer_wrong", answers, answer)


def _alone(text: str, start: int, end: int) -> bool:
    """Whether no letter or digit of the same script (ASCII or not) touches the piece on either side."""
    sides = ((text[start], text[start - 1 : start]), (text[end - 1], text[end : end + 1]))
    return not any(side.isalnum() and side.isascii() == edge.isascii() for edge, side in sides)


def _contains(answers: Sequence[str], match: ContainsMatch, answer: str) -> bool:
    wanted = [_clean(gold, match.normalisers) for gold in answers]
    unwanted = [_clean(text, match.normalisers) for text in match.absent]
    if any(text and text in answer for text in unwanted):
        return False
    return any(text and text in answer for text in wanted)


def _members(answer: str, match: SetMatch) -> set[str]:
    separators = {form for one in match.separators for form in (one, normalise(one, match.normalisers)) if form}
    pieces = re.split("|".join(re.escape(form) for form in sorted(separators, key=len, reverse=True)), answer)
    return {piece for raw in pieces if (piece := _clean(raw.strip(), match.normalisers))}
