"""The test that may be repeated: exact where outcomes can be counted, simulated under seeds over whole years."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binom

from registry.release.excess import at_least, first_alarm, log_wealth, mean_excess
from tests.bench.guard_rates import minimum_table
from tests.registry.release.count_builders import Day, some_days, tables
from tests.registry.release.guard_runs import ALPHA, MARGIN, Traffic, alarm_days, fixed_test_days, split

YEAR = 365
GUIDE = Path(__file__).parents[3] / "docs" / "guard.md"


@pytest.mark.parametrize("margin", [0.0, 0.005, 0.05])
@pytest.mark.parametrize(("base", "candidate"), [(1, 1), (30, 3), (12, 25), (4, 0)])
def test_no_candidate_within_the_margin_is_expected_to_raise_the_wealth(
    base: int, candidate: int, margin: float
) -> None:
    # exact: the sum over every outcome of one window, on a grid of rates whose difference is the margin or less
    outcomes = np.array(list(product(range(base + 1), range(candidate + 1))))
    wealth = np.exp(log_wealth(np.array([[base, candidate]]), outcomes[:, None, :], margin)[:, 0])
    for rate, short in product(np.linspace(0, 1 - margin, 60), (0.0, 0.01, 0.2)):
        other = max(rate + margin - short, 0)
        chances = binom.pmf(outcomes[:, 0], base, rate) * binom.pmf(outcomes[:, 1], candidate, other)
        assert chances @ wealth <= 1 + 1e-9


def test_nor_over_two_windows_whatever_the_rates_do_in_between() -> None:
    sizes = np.array([[6, 2], [3, 4]])
    outcomes = np.array(list(product(*(range(size + 1) for size in sizes.ravel()))))
    wealth = np.exp(log_wealth(sizes, outcomes.reshape(-1, 2, 2), MARGIN)[:, 1])
    for first, second in product(np.linspace(0, 0.9, 10), repeat=2):
        rates = np.array([first, first + MARGIN, second, second + MARGIN])
        assert binom.pmf(outcomes, sizes.ravel(), rates).prod(axis=1) @ wealth <= 1 + 1e-9


def test_a_worse_candidate_is_expected_to_raise_it() -> None:
    outcomes = np.array(list(product(range(61), range(61))))
    wealth = np.exp(log_wealth(np.array([[60, 60]]), outcomes[:, None, :], MARGIN)[:, 0])
    chances = binom.pmf(outcomes[:, 0], 60, 0.01) * binom.pmf(outcomes[:, 1], 60, 0.08)
    assert chances @ wealth > 1.5


@pytest.mark.parametrize("rate", [0.003, 0.01, 0.03])
@pytest.mark.parametrize(("base", "candidate"), [(200, 200), (3800, 200), (20000, 1053), (20000, 20000)])
def test_at_most_five_percent_of_years_alarm_at_the_margin(base: int, candidate: int, rate: float) -> None:
    days = alarm_days(Traffic(base, candidate, rate, MARGIN), YEAR, runs=300, seed=5)
    assert np.mean(days <= YEAR) <= ALPHA


def test_a_test_made_for_one_look_would_alarm_in_a_third_of_the_years() -> None:
    days = fixed_test_days(Traffic(5000, 5000, 0.01, MARGIN), YEAR, runs=300, seed=5)
    assert np.mean(days <= YEAR) > 0.25


@pytest.mark.parametrize(("share", "within"), [(0.05, 12), (0.25, 4), (0.5, 3)])
def test_two_points_more_are_found_within_days(share: float, within: int) -> None:
    days = alarm_days(split(5000, share, 0.01, 0.02), 30, runs=300, seed=6)
    assert np.mean(days <= within) >= 0.9


def test_the_published_power_of_the_steps_is_what_the_code_gives() -> None:
    assert minimum_table() in GUIDE.read_text()


def test_a_fault_is_found_after_months_without_one() -> None:
    sound = [(3750, 37, 1250, 12)] * 180
    faulty = [(3750, 37, 1250, 37)] * 6
    since = first_alarm(log_wealth(*tables(sound + faulty), MARGIN), ALPHA)
    assert since is not None and 180 <= since < 186


@given(some_days())
@settings(deadline=None, max_examples=25)
def test_a_window_without_sessions_on_one_side_is_no_evidence(days: list[Day]) -> None:
    alone: list[Day] = [(sessions, complaints, 0, 0) for sessions, complaints, _, _ in days]
    alone += [(0, 0, sessions, complaints) for _, _, sessions, complaints in days]
    assert log_wealth(*tables(alone), MARGIN) == pytest.approx(np.zeros(len(alone)), abs=1e-6)


def test_the_bound_is_the_last_fifth_of_the_margin_that_is_exceeded() -> None:
    sessions, complaints = tables([(3750, 37, 1250, 37)] * 5)
    bound, mean = at_least(sessions, complaints, MARGIN, ALPHA), mean_excess(sessions, complaints)
    assert bound is not None and mean is not None and MARGIN <= bound < mean
    assert first_alarm(log_wealth(sessions, complaints, bound), ALPHA) is not None
    assert first_alarm(log_wealth(sessions, complaints, bound + MARGIN / 5), ALPHA) is None
    assert at_least(*tables([(3750, 37, 1250, 12)] * 5), MARGIN, ALPHA) is None
    assert at_least(*tables([(3750, 37, 1250, 18)] * 7), MARGIN, ALPHA) == 0


def test_the_mean_is_not_misled_by_a_share_that_moves_while_rates_move() -> None:
    # equal in each window, yet 1.4 % of 5000 against 2.6 % of 5000 in total
    assert mean_excess(*tables([(4000, 40, 1000, 10), (1000, 30, 4000, 120)])) == pytest.approx(0)
    assert mean_excess(*tables([(10, 1, 0, 0)])) is None
