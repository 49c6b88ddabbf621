"""The two-stage bootstrap: against a library's where there is one repeat, and against the spread it has to show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap

from pipelines.serving.load.bootstrap import DRAWS, draw, interval, rate, tail

VALUES = np.random.default_rng(3).exponential(size=80)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 9))
@settings(max_examples=25)
def test_a_draw_holds_as_many_repeats_and_as_many_requests_of_each(sizes: list[int], seed: int) -> None:
    draws = draw(sizes, seed)
    assert draws.repeats.shape == (DRAWS, len(sizes)) and draws.requests.shape == (DRAWS, sum(sizes))
    assert (draws.repeats.sum(axis=1) == len(sizes)).all()
    starts = np.cumsum([0, *sizes[:-1]])
    assert (np.add.reduceat(draws.requests, starts, axis=1) == draws.repeats * sizes).all()
    assert (draws.requests == draw(sizes, seed).requests).all()


def test_with_one_repeat_it_is_the_plain_bootstrap() -> None:
    found = rate(VALUES, np.array([float(len(VALUES))]), draw([len(VALUES)], 1))
    wanted = bootstrap((VALUES,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(5))
    width = wanted.confidence_interval.high - wanted.confidence_interval.low
    assert found.estimate == pytest.approx(VALUES.mean())
    assert found.lower == pytest.approx(wanted.confidence_interval.low, abs=0.1 * width)
    assert found.upper == pytest.approx(wanted.confidence_interval.high, abs=0.1 * width)


def test_repeats_that_differ_widen_the_interval_however_many_requests_each_has() -> None:
    durations = np.full(4, 100.0)
    level = np.repeat([0.5, 1.0, 1.5, 2.0], 100)
    found = rate(level, durations, draw([100] * 4, 1))
    as_one = rate(level, np.array([400.0]), draw([400], 1))
    assert found.upper - found.lower > 5 * (as_one.upper - as_one.lower)


def test_a_drawn_repeat_brings_its_duration() -> None:
    found = rate(np.ones(20), np.array([10.0, 20.0]), draw([10, 10], 1))
    assert (found.lower, found.estimate, found.upper) == (0.5, 20 / 30, 1)


@pytest.mark.parametrize(("estimate", "lower", "upper"), [(0.5, 0.5, 2), (1.5, 1, 2), (3, 1, 3)])
def test_an_interval_is_widened_to_an_estimate_outside(estimate: float, lower: float, upper: float) -> None:
    found = interval(estimate, np.repeat([1.0, 2.0], 500))
    assert (found.lower, found.estimate, found.upper) == (lower, estimate, upper)


def test_requests_widen_the_interval_where_all_repeats_are_the_same() -> None:
    amounts = np.tile([0.0, 1.0], 30)
    found = rate(amounts, np.full(3, 20.0), draw([20] * 3, 1))
    assert found.lower < found.estimate == 0.5 < found.upper


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.sampled_from([0.5, 0.95, 0.99]))
@settings(max_examples=40)
def test_the_tail_is_an_observed_value_and_what_numpy_says(values: list[float], quantile: float) -> None:
    array = np.array(values)
    found = tail(array, np.arange(len(values)), draw([len(values)], 1), quantile)
    assert found.estimate == np.quantile(array, quantile, method="inverted_cdf")
    assert min(values) <= found.lower <= found.estimate <= found.upper <= max(values)


@pytest.mark.parametrize("count", [100, 500, 900, 1100])
@pytest.mark.parametrize("percent", [95, 99])
def test_of_a_round_count_it_is_the_exact_rank(count: int, percent: int) -> None:
    found = tail(np.arange(1.0, count + 1), np.arange(count), draw([count], 1), percent / 100)
    assert found.estimate == count * percent / 100


@pytest.mark.parametrize("block", [1, 7, 10**9])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draws, owners = draw([40, 40], 1), np.arange(80)
    wanted = tail(VALUES, owners, draws, 0.95)
    monkeypatch.setattr("pipelines.serving.load.bootstrap.BLOCK", block)
    assert tail(VALUES, owners, draws, 0.95) == wanted


def test_values_of_one_request_are_drawn_together() -> None:
    values = np.repeat([1.0, 2.0], 1000)
    found = tail(values, np.repeat([0, 1], 1000), draw([2], 1), 0.5)
    assert (found.lower, found.upper) == (1.0, 2.0)
    alone = tail(values, np.arange(2000), draw([2000], 1), 0.25)
    assert (alone.lower, alone.upper) == (1.0, 1.0)
