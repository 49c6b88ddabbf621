"""What a cell's repeats say together: exact sums, groups, the budget in words, and what no order or failure changes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsets.records import InputError
from pipelines.serving.load.cells import cell, goodput_difference
from pipelines.serving.load.latency import keeps_times
from pipelines.serving.load.results import Counters, Offered, Repeat, Sample
from registry.load_profile import Budget, Interval
from tests.pipelines.serving.load.repeat_material import BUDGET, FLAGS, LONG, budgets, cells, repeat, sample, samples

FEW = settings(max_examples=25, deadline=None)
FAILED = sample(None)


def counters(**fields: int) -> Counters:
    none = {"prompt_tokens": 0, "generation_tokens": 0, "queries": 0, "hits": 0, "preemptions": 0}
    return Counters(**{**none, **fields})


def test_the_sums_of_a_cell_to_the_digit() -> None:
    first = repeat([sample(prompt_tokens=100), sample(prompt_tokens=300, itl_s=[0.2])], 0, duration_s=10.0)
    second = repeat(
        [sample(prompt_tokens=1000), FAILED], 1, duration_s=30.0, counters=counters(prompt_tokens=1000, queries=1000)
    )
    found = cell([first, second], BUDGET, LONG)
    assert (found.rate, found.concurrency, found.cache) == (2, None, "cold")
    assert (found.repeats, found.requests, found.failed) == (2, 4, 1)
    assert found.requests_s.estimate == 3 / 40
    assert found.output_tok_s.estimate == (3 + 2 + 3) / 40
    assert found.prompt_tok_s.estimate == pytest.approx(1400 / 40)
    assert found.computed_tok_s.estimate == pytest.approx((100 + 1000) / 40)
    assert found.hit_rate == 300 / 1400
    assert found.goodput.estimate == 2 / 40
    assert (found.kv_use_mean, found.kv_use_peak, found.waiting_peak) == (0.25, 0.5, 3)
    assert (found.device_busy, found.device_memory) == (0.5, 10)


def test_groups_hold_their_requests_and_none_is_empty() -> None:
    found = cell(
        [repeat([sample(0.1, scene="工具"), sample(0.3, prompt_tokens=LONG), sample(None, scene="rag")])], BUDGET, LONG
    ).latency
    assert {name: (one.samples, one.ttft_ms.estimate) for name, one in found.items()} == {
        "all": (2, 300),
        "short": (1, 100),
        "long": (1, 300),
        "qa": (1, 300),
        "工具": (1, 100),
    }
    assert found["all"].e2e_ms.estimate == pytest.approx(410)


@pytest.mark.parametrize(("count", "quantile", "ttft_ms"), [(299, 0.95, 285), (300, 0.99, 297)])
def test_p99_from_300_answers_on(count: int, quantile: float, ttft_ms: float) -> None:
    group = [sample((1 + index) / 1000, []) for index in range(count)]
    found = cell([repeat([*group[:100], FAILED]), repeat(group[100:], 1)], BUDGET, LONG).latency["all"]
    assert (found.quantile, found.samples) == (quantile, count)
    assert found.ttft_ms.estimate == pytest.approx(ttft_ms)


def test_answers_of_one_token_have_no_time_between_tokens() -> None:
    found = cell([repeat([sample(0.1, [])])], BUDGET, LONG)
    assert found.latency["all"].itl_ms == Interval(estimate=0, lower=0, upper=0)
    assert found.kept


@pytest.mark.parametrize(
    ("one", "quantile", "kept"),
    [
        (sample(0.5, [0.1]), 0.95, True),
        (sample(0.5001, [0.1]), 0.95, False),
        (sample(0.5, [0.1001]), 0.95, False),
        (sample(0.5, []), 0.95, True),
        (sample(0.1, [*[0.05] * 19, 0.9]), 0.95, True),
        (sample(0.1, [*[0.05] * 19, 0.9]), 0.99, False),
        (FAILED, 0.95, False),
    ],
)
def test_a_request_keeps_the_times_by_its_own_tail(one: Sample, quantile: float, kept: bool) -> None:
    assert keeps_times(one, BUDGET, quantile) is kept


@pytest.mark.parametrize(
    ("group", "fields", "broke"),
    [
        ([sample()], {}, []),
        ([sample(0.8125)], {}, ["TTFT p95 812.5 ms, budget 500"]),
        ([sample(itl_s=[0.25])], {}, ["ITL p95 250 ms, budget 100"]),
        ([sample(), FAILED], {}, ["errors 1 of 2 requests (50 %), budget 0 %"]),
        ([sample()], {"counters": counters(preemptions=3)}, ["preemptions 3, budget 0"]),
        ([FAILED], {}, ["no request was answered", "errors 1 of 1 requests (100 %), budget 0 %"]),
    ],
)
def test_what_was_broken_is_said_with_both_numbers(
    group: list[Sample], fields: dict[str, Any], broke: list[str]
) -> None:
    found = cell([repeat(group, **fields)], BUDGET, LONG)
    assert found.broke == broke
    assert found.kept is (not broke)


def test_the_estimate_is_held_against_the_budget_and_not_the_bound() -> None:
    found = cell([repeat([*[sample(0.2, [])] * 38, *[sample(0.9, [])] * 2])], BUDGET, LONG)
    assert found.latency["all"].ttft_ms.estimate <= BUDGET.ttft_ms < found.latency["all"].ttft_ms.upper
    assert found.kept


def test_preemptions_of_all_repeats_count_together() -> None:
    both = [repeat([sample()], number, counters=counters(preemptions=1)) for number in range(2)]
    assert cell(both, Budget(ttft_ms=500, itl_ms=100, preemptions=2), LONG).kept
    assert cell(both, Budget(ttft_ms=500, itl_ms=100, preemptions=1), LONG).broke == ["preemptions 2, budget 1"]


@given(cells, budgets)
@FEW
def test_every_interval_holds_its_estimate_and_goodput_is_at_most_what_was_done(
    repeats: list[Repeat], budget: Budget
) -> None:
    found = cell(repeats, budget, LONG)
    intervals = [found.requests_s, found.output_tok_s, found.prompt_tok_s, found.computed_tok_s, found.goodput]
    for one in found.latency.values():
        intervals += [one.ttft_ms, one.itl_ms, one.e2e_ms]
    assert all(0 <= one.lower <= one.estimate <= one.upper for one in intervals)
    assert found.goodput.estimate <= found.requests_s.estimate
    assert found.kept is (found.broke == [])


@given(cells, budgets, st.randoms(use_true_random=False))
@FEW
def test_the_order_of_repeats_and_requests_changes_nothing(
    repeats: list[Repeat], budget: Budget, chance: random.Random
) -> None:
    mixed = [one.model_copy(update={"samples": chance.sample(one.samples, len(one.samples))}) for one in repeats]
    chance.shuffle(mixed)
    assert cell(mixed, budget, LONG) == cell(repeats, budget, LONG)
    assert goodput_difference(mixed, repeats, budget) == goodput_difference(repeats, mixed, budget)


@given(cells, budgets, st.integers(1, 4))
@FEW
def test_more_failures_never_turn_broken_into_kept(repeats: list[Repeat], budget: Budget, more: int) -> None:
    worse = [repeats[0].model_copy(update={"samples": [*repeats[0].samples, *[FAILED] * more]}), *repeats[1:]]
    before, after = cell(repeats, budget, LONG), cell(worse, budget, LONG)
    assert before.kept or not after.kept
    assert after.failed == before.failed + more
    assert after.goodput.estimate == before.goodput.estimate


@given(st.lists(samples, min_size=1, max_size=8))
@FEW
def test_a_tighter_budget_never_has_more_goodput(group: list[Sample]) -> None:
    wide, tight = (cell([repeat(group)], Budget(ttft_ms=ms, itl_ms=ms), LONG) for ms in (1500, 700))
    assert tight.goodput.estimate <= wide.goodput.estimate
    assert wide.kept or not tight.kept


def test_a_difference_of_goodputs_is_that_of_the_cells() -> None:
    fast = [repeat([sample()] * 20, number, duration_s=10.0) for number in range(2)]
    slow = [repeat([*[sample()] * 10, *[sample(0.9)] * 10], number, duration_s=20.0) for number in range(2)]
    found = goodput_difference(fast, slow, BUDGET)
    assert found.estimate == 2 - 0.5
    assert 0 < found.lower < found.estimate < found.upper
    same = goodput_difference(slow, slow, BUDGET)
    assert same.lower < same.estimate == 0 < same.upper


@pytest.mark.parametrize(
    ("repeats", "message"),
    [
        ([], "without a repeat"),
        ([repeat([sample()]), repeat([sample()], offered=Offered(rate=3))], "several cells"),
        ([repeat([sample()]), repeat([sample()], flags=FLAGS.model_copy(update={"max_num_seqs": 1}))], "several cells"),
        ([repeat([])], "repeat 0: 0 requests"),
        ([repeat([sample()], 4, duration_s=0.0)], "repeat 4: 1 requests in 0.0 s"),
        ([repeat([sample(scene="long")])], "scene long"),
    ],
)
def test_what_is_no_cell_is_refused(repeats: list[Repeat], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cell(repeats, BUDGET, LONG)
