"""The fixed subset: right size, spread like the whole, independent of file order, refused when too large."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.items import Item, Message, QaItem
from evalsets.load import load_qa, load_tools, stratified
from evalsets.records import InputError, read_rows, write_rows

DATA = Path("evalsets/data")


def items(count: int) -> list[Item]:
    message = [Message(role="user", content="?")]
    return [
        Item(
            id=f"item-{n:04}",
            domain="service" if n % 3 else "contract",
            cluster="c",
            split="release",
            lang="zh" if n % 4 else "en",
            tags=["numeric" if n % 2 else "choice"],
            messages=message,
        )
        for n in range(count)
    ]


@given(st.integers(1, 120), st.data())
def test_the_subset_has_the_wanted_size_and_shares(count: int, data: st.DataObject) -> None:
    whole = items(count)
    take = data.draw(st.integers(1, count))
    chosen = stratified(whole, take, "suite")
    assert len(chosen) == take
    assert [item for item in whole if item in chosen] == chosen
    shuffled = data.draw(st.permutations(whole))
    assert {item.id for item in stratified(list(shuffled), take, "suite")} == {item.id for item in chosen}
    for key, size in Counter((item.domain, item.lang, item.tags[0]) for item in whole).items():
        got = sum((item.domain, item.lang, item.tags[0]) == key for item in chosen)
        assert abs(got - size * take / count) < 1


def test_too_many_is_an_error() -> None:
    with pytest.raises(InputError, match="3 active items, 4 wanted"):
        stratified(items(3), 4, "suite")


def test_a_file_of_both_splits_is_refused(tmp_path: Path) -> None:
    rows = read_rows(DATA / "qa.jsonl", QaItem)[:2]
    write_rows(tmp_path / "qa.jsonl", [rows[0], rows[1].model_copy(update={"split": "dev"})])
    with pytest.raises(InputError, match="items of the splits dev and release; keep each split in a file of its own"):
        load_qa(tmp_path / "qa.jsonl")


def test_the_suites_here_are_large_enough_for_the_local_profile() -> None:
    assert len(load_qa(DATA / "qa.jsonl", 96)) == 96
    assert len(load_tools(DATA / "tool_calls.jsonl", 48)) == 48
