"""Text that stands where it must not: twins within the suites, and suite text within calibration. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rapidfuzz import fuzz, process

from evalsets.items import CalibrationRow, Item, Message

NEAR = 90.0  # rapidfuzz ratio, 0 to 100, from which two requests count as the same
GRAM = 13  # words in a row that two texts must share to count as overlapping, as in the GPT-3 contamination study
WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
LONG_NUMBER = re.compile(r"\d{6,}")


def near_duplicates(items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """(id, fault) of each item that asks nearly what an earlier one asks, apart from what several items share."""
    texts = own_texts(items)
    ids = list(texts)
    for number, item_id in enumerate(ids):
        earlier = {other: texts[other] for other in ids[:number]}
        twins = process.extract(texts[item_id], earlier, scorer=fuzz.ratio, score_cutoff=NEAR, limit=None)
        for _, ratio, other in twins:
            yield item_id, f"{ratio:.0f} % the same request as {other}; rewrite one of them"


def own_texts(items: Sequence[Item]) -> dict[str, str]:
    """What each item says that no other one says: its conversation without the lines that several items have.

    Items of a document repeat its passage and answer formats recur; only what is left tells items apart. An item with
    nothing left keeps all.
    """
    lines = {item.id: _lines(item) for item in items}
    seen = Counter(line for own in lines.values() for line in set(own))
    return {item_id: "\n".join([line for line in own if seen[line] == 1] or own) for item_id, own in lines.items()}


def calibration_overlap(items: Sequence[Item], rows: Sequence[CalibrationRow]) -> Iterator[tuple[str, str]]:
    """(id, fault) of calibration rows that share 13 words in a row, or a number of 6 digits or more, with an item.

    Words are runs of letters and digits, and single Chinese characters. Only what users and assistants say counts.
    """
    grams: dict[tuple[str, ...], str] = {}
    numbers: dict[str, str] = {}
    for item in items:
        text = _spoken(item.messages)
        grams |= dict.fromkeys(_grams(text), item.id)
        numbers |= dict.fromkeys(LONG_NUMBER.findall(text), item.id)
    for row in rows:
        text = _spoken(row.messages)
        if both := next((gram for gram in _grams(text) if gram in grams), None):
            yield row.id, f"repeats {grams[both]} ({' '.join(both)!r}); write another conversation"
        for number in dict.fromkeys(LONG_NUMBER.findall(text)):
            if number in numbers:
                yield row.id, f"repeats the number {number} of {numbers[number]}; write another one"


def _lines(item: Item) -> list[str]:
    return [line for m in item.messages if m.role != "system" for line in (m.content or "").split("\n") if line.strip()]


def _spoken(messages: Sequence[Message]) -> str:
    return "\n".join(m.content or "" for m in messages if m.role in ("user", "assistant"))


def _grams(text: str) -> list[tuple[str, ...]]:
    words = WORD.findall(text.casefold())
    return [tuple(words[n : n + GRAM]) for n in range(len(words) - GRAM + 1)]
