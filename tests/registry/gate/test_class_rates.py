"""Exact binomial intervals and the chance to meet a count rule, against known values and each other."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.gate.rates import clopper_pearson, rule_met

COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
ALPHAS = st.sampled_from([0.01, 0.05, 0.1, 0.5])


@pytest.mark.parametrize(
    ("count", "n", "alpha", "low", "high"),
    [
        (0, 10, 0.05, 0.0, 0.3084971),
        (10, 10, 0.05, 0.6915029, 1.0),
        (1, 10, 0.05, 0.0025286, 0.4450161),
        (5, 10, 0.05, 0.1870860, 0.8129140),
        (0, 180, 0.1, 0.0, 1 - 0.05 ** (1 / 180)),
        (1, 1, 0.05, 0.025, 1.0),
    ],
)
def test_known_intervals(count: int, n: int, alpha: float, low: float, high: float) -> None:
    assert clopper_pearson(count, n, alpha) == pytest.approx((low, high), abs=1e-7)


@given(COUNTS, ALPHAS)
def test_the_interval_is_where_the_tails_are_half_of_alpha(counted: tuple[int, int], alpha: float) -> None:
    count, n = counted
    low, high = clopper_pearson(count, n, alpha)
    assert 0 <= low <= count / n <= high <= 1
    if count:
        assert 1 - rule_met(n, low, count - 1) == pytest.approx(alpha / 2, rel=1e-6)
    if count < n:
        assert rule_met(n, high, count) == pytest.approx(alpha / 2, rel=1e-6)


@given(COUNTS, ALPHAS)
def test_what_is_not_counted_has_the_mirrored_interval(counted: tuple[int, int], alpha: float) -> None:
    count, n = counted
    low, high = clopper_pearson(count, n, alpha)
    assert clopper_pearson(n - count, n, alpha) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize(
    ("count", "n", "alpha", "message"),
    [
        (0, 0, 0.05, "n has to be 1 or more"),
        (-1, 10, 0.05, "the count 0 to n"),
        (11, 10, 0.05, "the count 0 to n"),
        (1, 10, 0.0, "alpha"),
        (1, 10, 1.0, "alpha"),
        (1, 10, math.nan, "alpha"),
    ],
)
def test_impossible_counts_are_refused(count: int, n: int, alpha: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clopper_pearson(count, n, alpha)


@pytest.mark.parametrize(("rate", "broken"), [(0.0025, 0.36), (0.003, 0.42), (0.005, 0.59), (0.01, 0.84)])
def test_no_loss_allowed_on_180_items_is_often_broken(rate: float, broken: float) -> None:
    assert 1 - rule_met(180, rate, 0) == pytest.approx(broken, abs=0.005)
    assert rule_met(180, rate, 0) == pytest.approx((1 - rate) ** 180, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "rate", "allowed", "met"),
    [
        (180, 0.0, 0, 1.0),
        (180, 1.0, 179, 0.0),
        (180, 1.0, 180, 1.0),
        (180, 0.3, 500, 1.0),
        (180, 0.3, -1, 0.0),
        (0, 0.3, 0, 1.0),
        (3, 0.5, 1, 0.5),
        (2, 0.1, 1, 0.99),
    ],
)
def test_edges_of_a_count_rule(n: int, rate: float, allowed: int, met: float) -> None:
    assert rule_met(n, rate, allowed) == pytest.approx(met, abs=1e-15)


@given(st.integers(0, 60), st.floats(0, 1), st.integers(-1, 61))
def test_the_chance_is_the_sum_over_the_counts(n: int, rate: float, allowed: int) -> None:
    total = math.fsum(
        math.comb(n, count) * rate**count * (1 - rate) ** (n - count) for count in range(min(allowed, n) + 1)
    )
    assert rule_met(n, rate, allowed) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(("n", "rate", "message"), [(-1, 0.1, "n is -1"), (9, -0.1, "rate"), (9, 1.1, "rate")])
def test_impossible_rules_are_refused(n: int, rate: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rule_met(n, rate, 0)


def test_a_rate_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="rate"):
        rule_met(9, math.nan, 0)
