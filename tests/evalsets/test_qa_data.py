"""The QA suite as data: its make-up, its clusters, and golds that fit their prompts."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from rapidfuzz import fuzz

from evalsets.items import ChoiceMatch, ExactMatch, NumericMatch, QaItem
from evalsets.records import read_rows, unique_by_id

PATH = Path(__file__).parents[2] / "evalsets" / "data" / "qa.jsonl"
ITEMS = read_rows(PATH, QaItem)
ID_PREFIX = {"service": "qa-svc-", "knowledge": "qa-kb-", "contract": "qa-ct-"}
QUESTION = re.compile(r"(?:【问题】|Question: )(.*?)\n\n", re.DOTALL)


def user_text(item: QaItem) -> str:
    return item.messages[-1].content or ""


def question(item: QaItem) -> str:
    found = QUESTION.search(user_text(item))
    assert found, f"{item.id}: the prompt marks no question"
    return found.group(1)


@pytest.mark.parametrize(
    ("shares", "counts"),
    [
        ({"service": 0.375, "knowledge": 0.375, "contract": 0.25}, Counter(item.domain for item in ITEMS)),
        ({"zh": 0.70, "en": 0.30}, Counter(item.lang for item in ITEMS)),
        (
            {"numeric": 0.35, "exact": 0.29, "choice": 0.20, "set": 0.10, "contains": 0.06},
            Counter(item.match.kind for item in ITEMS),
        ),
    ],
)
def test_shares(shares: dict[str, float], counts: Counter[str]) -> None:
    assert set(counts) == set(shares)
    for name, share in shares.items():
        assert counts[name] / counts.total() == pytest.approx(share, abs=0.03), name


def test_size_ids_and_clusters() -> None:
    assert len(unique_by_id(ITEMS, "id", str(PATH))) == len(ITEMS) >= 96
    assert all(item.id.startswith(ID_PREFIX[item.domain]) for item in ITEMS)
    clusters = Counter(item.cluster for item in ITEMS)
    assert len(clusters) >= 16
    assert max(clusters.values()) <= 8
    assert sum("not_stated" in item.tags for item in ITEMS) >= 5


def test_no_two_prompts_are_near_identical() -> None:
    pairs = list(itertools.combinations(ITEMS, 2))
    assert [(a.id, b.id) for a, b in pairs if fuzz.ratio(question(a), question(b)) > 75] == []
    assert [(a.id, b.id) for a, b in pairs if fuzz.ratio(user_text(a), user_text(b)) > 90] == []


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_gold_fits_the_prompt(item: QaItem) -> None:
    answer_format = user_text(item).rsplit("\n\n", 1)[-1]
    assert item.match.kind == item.tags[0]
    if isinstance(item.match, ChoiceMatch):
        assert item.answers[0] in item.match.options
        assert all(f"\n{label}. " in question(item) for label in item.match.options)
    elif isinstance(item.match, NumericMatch):
        assert all(Decimal(answer).is_finite() for answer in item.answers)
    if isinstance(item.match, ExactMatch) and "not_stated" in item.tags:
        assert item.answers[0] in answer_format
    elif not isinstance(item.match, ChoiceMatch):
        assert not any(answer.casefold() in answer_format.casefold() for answer in item.answers)
