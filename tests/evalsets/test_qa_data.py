"""The questions as data, beyond what the lint holds any suite to: prompts that state their format, golds that fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations
from pathlib import Path

from rapidfuzz import fuzz

from evalsets.items import ChoiceMatch, ExactMatch, NumericMatch, QaItem
from evalsets.records import read_rows

DATA = Path(__file__).parents[2] / "evalsets" / "data"
ITEMS = [*read_rows(DATA / "qa.jsonl", QaItem), *read_rows(DATA / "dev" / "qa.jsonl", QaItem)]
ID_PREFIX = {"service": "qa-svc-", "knowledge": "qa-kb-", "contract": "qa-ct-"}
PARTS = re.compile(r"(?:【问题】|\n\nQuestion: )(.*?)\n\n(【作答要求】|Answer format: )(.+)$", re.DOTALL)


def parts(item: QaItem) -> tuple[str, str]:
    """Question (with its options) and answer format of an item's prompt."""
    found = PARTS.search(item.messages[-1].content or "")
    assert found, f"{item.id}: the prompt states no question and answer format"
    return found[1], found[3]


def misfits(item: QaItem) -> Iterator[str]:
    question, answer_format = parts(item)
    if item.id.removeprefix("dev-")[: len(ID_PREFIX[item.domain])] != ID_PREFIX[item.domain]:
        yield "id of another domain"
    if item.match.kind != item.tags[0]:
        yield "first tag is not the match kind"
    if isinstance(item.match, ChoiceMatch):
        if item.answers[0] not in item.match.options:
            yield "the gold is no option"
        yield from (f"no option {label}" for label in item.match.options if f"\n{label}. " not in question)
    elif isinstance(item.match, NumericMatch):
        yield from (f"{answer} is no number" for answer in item.answers if not Decimal(answer).is_finite())
    if isinstance(item.match, ExactMatch) and "not_stated" in item.tags:
        if item.answers[0] not in answer_format:
            yield "the format does not say what to answer where nothing is stated"
    elif not isinstance(item.match, ChoiceMatch) and any(
        answer.casefold() in answer_format.casefold() for answer in item.answers
    ):
        yield "the format gives the answer away"


def test_golds_fit_their_prompts() -> None:
    assert [(item.id, fault) for item in ITEMS for fault in misfits(item)] == []


def test_the_not_stated_phrase_gives_nothing_away() -> None:
    """Items that are answerable offer the phrase as well."""
    phrase = re.compile("未说明|not stated", re.IGNORECASE)
    offered = [item for item in ITEMS if phrase.search(parts(item)[1])]
    assert sum("not_stated" not in item.tags for item in offered) >= 30


def test_right_options_are_spread() -> None:
    golds = [item.answers[0] for item in ITEMS if item.match.kind == "choice"]
    assert all(golds.count(label) / len(golds) < 0.35 for label in "ABCD")


def test_no_two_questions_are_alike() -> None:
    questions = [(item.id, parts(item)[0]) for item in ITEMS]
    twins = [(a, b) for (a, x), (b, y) in combinations(questions, 2) if fuzz.ratio(x, y, score_cutoff=78)]
    assert twins == []
