"""The flags to try and the flags chosen: the default in every grid, and better only where the interval says so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsets.records import InputError
from pipelines.serving.load.plan import flags_name
from pipelines.serving.load.results import Offered, Repeat
from pipelines.serving.load.settings import TuningSettings
from pipelines.serving.load.tuning import grid, seqs_bound, tune
from registry.load_profile import Flags
from tests.pipelines.serving.load.repeat_material import BUDGET, LONG, repeat, sample

DEFAULT = Flags(max_num_batched_tokens=2048, max_num_seqs=16)
SMALL = Flags(max_num_batched_tokens=512, max_num_seqs=8)
WIDE = Flags(max_num_batched_tokens=512, max_num_seqs=16)
BOUNDED = Flags(max_num_batched_tokens=512, max_num_seqs=8, long_prefill_token_threshold=256)
LARGE = Flags(max_num_batched_tokens=8192, max_num_seqs=64)

counts = st.lists(st.sampled_from([1, 8, 64, 512, 2048]), min_size=1, max_size=3)
some_flags = st.builds(
    Flags,
    max_num_batched_tokens=st.sampled_from([8, 512, 2048]),
    max_num_seqs=st.sampled_from([1, 8, 64]),
    long_prefill_token_threshold=st.sampled_from([0, 64, 2048]),
)
grids = st.builds(
    TuningSettings,
    rates=st.just([1.0]),
    max_num_batched_tokens=counts,
    max_num_seqs=counts,
    long_prefill_token_threshold=st.lists(st.sampled_from([0, 8, 512]), min_size=1, max_size=3),
)


def measured(flags: Flags, rate: float, done: int, late: int = 0) -> list[Repeat]:
    """Two repeats of 10 s with `done` requests in time and `late` ones far beyond the budget."""
    group = [*[sample()] * done, *[sample(0.9)] * late]
    return [repeat(group, number, flags=flags, offered=Offered(rate=rate)) for number in range(2)]


def noisy(flags: Flags, rate: float, counts: Sequence[int]) -> list[Repeat]:
    """Repeats of 10 s that differ in how many requests they got through."""
    offered = Offered(rate=rate)
    return [repeat([sample()] * count, number, flags=flags, offered=offered) for number, count in enumerate(counts)]


@pytest.mark.parametrize(
    ("kv_tokens", "own", "wanted"), [(1000, 100, 10), (1099, 100, 10), (50, 100, 1), (1000, 33.4, 29)]
)
def test_how_many_sequences_the_cache_holds(kv_tokens: int, own: float, wanted: int) -> None:
    assert seqs_bound(kv_tokens, own) == wanted


@pytest.mark.parametrize(("kv_tokens", "own"), [(0, 10), (10, 0)])
def test_no_cache_and_no_tokens_are_refused(kv_tokens: int, own: float) -> None:
    with pytest.raises(InputError, match="above 0"):
        seqs_bound(kv_tokens, own)


def test_a_grid_with_the_reasons_of_what_is_left_out() -> None:
    settings = TuningSettings(
        rates=[1.0], max_num_batched_tokens=[16, 512], max_num_seqs=[16, 64], long_prefill_token_threshold=[0, 256]
    )
    tried, left_out = grid(settings, DEFAULT, seqs_bound=32)
    assert [flags_name(one) for one in tried] == ["2048-16-0", "16-16-0", "512-16-0", "512-16-256"]
    assert left_out == {
        "16-16-256": "a threshold of 256 bounds nothing with 16 batched tokens",
        "16-64-0": "64 sequences, the KV cache holds 32; 16 batched tokens for 64 sequences, each needs one",
        "16-64-256": "64 sequences, the KV cache holds 32; 16 batched tokens for 64 sequences, each needs one; "
        "a threshold of 256 bounds nothing with 16 batched tokens",
        "512-64-0": "64 sequences, the KV cache holds 32",
        "512-64-256": "64 sequences, the KV cache holds 32",
    }


@given(grids, some_flags, st.integers(1, 100))
def test_every_combination_is_tried_or_left_out_and_the_default_is_always_tried(
    settings: TuningSettings, default: Flags, bound: int
) -> None:
    tried, left_out = grid(settings, default, bound)
    assert tried[0] == default and len(set(tried)) == len(tried)
    for one in tried[1:]:
        assert one.max_num_seqs <= min(bound, one.max_num_batched_tokens)
        assert one.long_prefill_token_threshold < one.max_num_batched_tokens
    names = {
        f"{tokens}-{seqs}-{threshold}"
        for tokens in settings.max_num_batched_tokens
        for seqs in settings.max_num_seqs
        for threshold in settings.long_prefill_token_threshold
    }
    assert {flags_name(one) for one in tried} | left_out.keys() == names | {flags_name(default)}
    assert not {flags_name(one) for one in tried} & left_out.keys()


def test_each_stands_with_its_highest_rate_that_kept_the_budget_or_its_lowest() -> None:
    default = [measured(DEFAULT, 1, 10), measured(DEFAULT, 3, 15, 15), measured(DEFAULT, 2, 20)]
    small = [measured(SMALL, 2, 10, 10), measured(SMALL, 1, 5, 5)]
    found = tune([(DEFAULT, default), (SMALL, small)], BUDGET, LONG, {"512-64-0": "why"})
    assert [(one.flags, one.cell.rate, one.cell.kept) for one in found.tried] == [(DEFAULT, 2, True), (SMALL, 1, False)]
    assert found.left_out == {"512-64-0": "why"}
    assert (found.default, found.chosen, found.better) == (DEFAULT, DEFAULT, False)
    assert found.gain.estimate == 0.5 - 2


def test_the_best_goodput_wins() -> None:
    cells = {DEFAULT: 10, SMALL: 20, LARGE: 40}
    found = tune([(flags, [measured(flags, count / 10, count)]) for flags, count in cells.items()], BUDGET, LONG)
    assert (found.chosen, found.better) == (LARGE, True)
    assert found.gain.estimate == 3 and found.gain.lower > 0


def test_the_default_stays_where_the_interval_of_the_best_holds_0() -> None:
    tried = [(DEFAULT, [noisy(DEFAULT, 2, [15, 20])]), (LARGE, [noisy(LARGE, 2, [16, 30])])]
    found = tune(tried, BUDGET, LONG)
    assert found.gain.lower <= 0 < found.gain.estimate
    assert (found.chosen, found.better) == (DEFAULT, False)


@pytest.mark.parametrize(
    ("smaller", "larger"), [(SMALL, LARGE), (SMALL, WIDE), (SMALL, BOUNDED), (BOUNDED, WIDE), (WIDE, LARGE)]
)
def test_a_tie_goes_to_the_smaller_batch(smaller: Flags, larger: Flags) -> None:
    tried = [
        (DEFAULT, [noisy(DEFAULT, 1, [10, 10, 10])]),
        (larger, [noisy(larger, 4, [36, 40, 44])]),
        (smaller, [noisy(smaller, 4, [35, 39, 43])]),
    ]
    found = tune(tried, BUDGET, LONG)
    assert (found.chosen, found.better) == (smaller, True)
    assert found.gain.estimate == pytest.approx(2.9)


def test_a_smaller_batch_that_does_not_beat_the_default_itself_is_not_chosen() -> None:
    tried = [
        (DEFAULT, [noisy(DEFAULT, 2, [18, 20, 22])]),
        (LARGE, [noisy(LARGE, 4, [30, 38, 46])]),
        (SMALL, [noisy(SMALL, 4, [10, 36, 50])]),
    ]
    found = tune(tried, BUDGET, LONG)
    assert (found.chosen, found.better) == (LARGE, True)


def test_flags_that_never_keep_the_budget_are_not_chosen_however_good() -> None:
    tried = [(DEFAULT, [measured(DEFAULT, 1, 10)]), (LARGE, [measured(LARGE, 9, 80, 10)])]
    found = tune(tried, BUDGET, LONG)
    assert (found.chosen, found.better) == (DEFAULT, False)
    assert found.gain.lower > 0


def test_better_flags_that_do_not_keep_the_budget_do_not_stand_in_the_way() -> None:
    tried = [
        (DEFAULT, [measured(DEFAULT, 1, 10)]),
        (LARGE, [measured(LARGE, 9, 80, 10)]),
        (SMALL, [measured(SMALL, 2, 20)]),
    ]
    found = tune(tried, BUDGET, LONG)
    assert (found.chosen, found.better, found.gain.estimate) == (SMALL, True, 1)


def test_the_default_alone_gains_nothing() -> None:
    found = tune([(DEFAULT, [measured(DEFAULT, 1, 10)])], BUDGET, LONG)
    assert (found.chosen, found.better, found.gain.estimate) == (DEFAULT, False, 0)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=3, max_size=3))
@settings(max_examples=25, deadline=None)
def test_better_is_what_the_record_says_it_is(counts: list[tuple[int, int]]) -> None:
    tried = [
        (flags, [measured(flags, 1, done + 1, late)])
        for flags, (done, late) in zip((DEFAULT, SMALL, LARGE), counts, strict=True)
    ]
    found = tune(tried, BUDGET, LONG)
    assert found.better is (found.chosen != DEFAULT)
    if found.better:
        assert found.gain.lower > 0
        assert next(one.cell for one in found.tried if one.flags == found.chosen).kept
    assert [one.flags for one in found.tried] == [DEFAULT, SMALL, LARGE]


@pytest.mark.parametrize(
    ("tried", "message"),
    [
        ([], "nothing was tried"),
        ([(DEFAULT, [])], "2048-16-0 has no cell"),
        ([(SMALL, [measured(DEFAULT, 1, 1)])], "512-8-0 has a cell of 2048-16-0"),
        ([(DEFAULT, [[repeat([sample()], offered=Offered(concurrency=1))]])], "at rate None"),
        ([(DEFAULT, [measured(DEFAULT, 1, 1)])] * 2, "come twice among 2048-16-0, 2048-16-0"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tried: Sequence[tuple[Flags, Sequence[Sequence[Repeat]]]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        tune(tried, BUDGET, LONG)
