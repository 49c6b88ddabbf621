"""Blocks of KV cache: names chain over the prefix, and blocks are kept and lost in the engine's order."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.serving.blocks import BlockPool, block_hashes
from pipelines.serving.simulate import predict_hits

IDS = st.lists(st.integers(0, 3), max_size=40)


@given(IDS, IDS, st.integers(1, 5))
def test_names_agree_as_far_as_the_tokens_do(first: list[int], second: list[int], size: int) -> None:
    same = 0
    while same < min(len(first), len(second)) and first[same] == second[same]:
        same += 1
    one, two = block_hashes(array("I", first), size), block_hashes(second, size)
    assert len(one) == len(first) // size
    assert [a == b for a, b in zip(one, two, strict=False)] == [
        (number + 1) * size <= same for number in range(min(len(one), len(two)))
    ]


def test_names_go_on_from_a_parent() -> None:
    whole = block_hashes(range(12), 4)
    assert block_hashes(range(4, 12), 4, whole[0]) == whole[1:]


@pytest.mark.parametrize(
    ("prompts", "blocks", "wanted"),
    [
        # Full blocks only, and the last token is computed: of 8 equal tokens in blocks of 4, one block is found.
        ([range(8), range(8)], 10, [0, 4]),
        ([range(9), range(9)], 10, [0, 8]),
        ([range(3), range(3)], 10, [0, 0]),
        ([range(4), range(4)], 10, [0, 0]),
        # The prefix decides: an equal block behind another one is none.
        ([range(8), [9, *range(1, 8)]], 10, [0, 0]),
        # Room for one prompt of three blocks: the second one takes the first one's blocks.
        ([range(12), range(100, 112), range(12)], 3, [0, 0, 0]),
        # One block has to go for the second prompt: it is the first one's last, so that its head is still found.
        ([range(12), range(100, 104), range(12)], 3, [0, 0, 8]),
        # Of two prompts the one used longest ago goes.
        ([range(8), range(100, 108), range(200, 208), range(100, 109)], 4, [0, 0, 0, 8]),
        ([range(9), range(100, 108), range(9), range(200, 204), range(9)], 5, [0, 0, 8, 0, 8]),
    ],
)
def test_sequential_hits(prompts: list[list[int]], blocks: int, wanted: list[int]) -> None:
    assert predict_hits(prompts, 4, blocks) == wanted


def test_answers_are_cached_but_for_their_last_token() -> None:
    prompts = [list(range(6)), [*range(6), 50, 51, 60], [*range(6), 50, 51, 52, 53, 54, 55, 60]]
    assert predict_hits(prompts, 4, 20, {0: [50, 51]}) == [0, 4, 8]
    assert predict_hits(prompts, 4, 20, {0: [50, 51, 52]}) == [0, 8, 8]
    assert predict_hits([prompts[0], prompts[2]], 4, 20, {0: [50, 51, 52, 53, 54, 55, 56]}) == [0, 12]


def test_a_pool_counts_hits_that_nobody_holds_as_taken_from_the_free_ones() -> None:
    pool = BlockPool(3)
    pool.release(pool.take([], [1, 2], 2))
    hits = pool.cached_run([1, 2])
    assert pool.room_for(hits, 3) and not pool.room_for(hits, 4)
    held = pool.take(hits, [1, 2], 3)
    assert pool.free_blocks == 0
    assert pool.room_for(hits, 2) and not pool.room_for(hits, 3)
    pool.release(held)
    assert pool.free_blocks == 3


@given(st.lists(st.tuples(IDS, st.integers(0, 2)), max_size=25), st.integers(12, 30))
def test_a_pool_never_loses_a_block_and_a_hit_was_there_before(runs: list[tuple[list[int], int]], blocks: int) -> None:
    pool, open_runs, seen = BlockPool(blocks), [], set[int]()
    for ids, keep in runs:
        names = block_hashes(ids, 4)
        hits = pool.cached_run(names)
        assert set(names[: len(hits)]) <= seen
        need = -(-len(ids) // 4)
        if not pool.room_for(hits, need):
            continue
        held = pool.take(hits, names, need)
        assert len(set(held)) == need
        seen |= set(names)
        open_runs.append(held)
        while len(open_runs) > keep:
            pool.release(open_runs.pop(0))
    for held in open_runs:
        pool.release(held)
    assert pool.free_blocks == blocks
