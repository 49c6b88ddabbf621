"""The Tango interval: published values, a numeric maximum likelihood as reference, and what must always hold."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from registry.gate.tango import bounds, exceeds, items_to_decide

# losses, gains, n, one-sided alpha, lower, upper
GOLDEN = [
    (7, 1, 21, 0.025, -0.517232, -0.026003),
    (40, 20, 160, 0.025, -0.218064, -0.030865),
    (5, 2, 180, 0.025, -0.053855, 0.015481),
    (5, 2, 180, 0.05, -0.046387, 0.009006),
    (0, 0, 180, 0.05, -0.014808, 0.014808),
    (0, 0, 640, 0.05, -0.004210, 0.004210),
    (12, 9, 640, 0.05, -0.017375, 0.007523),
]
ALPHAS = st.sampled_from([0.01, 0.025, 0.05, 0.1])


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(2, 700))
    losses = draw(st.integers(0, n))
    return losses, draw(st.integers(0, n - losses)), n


def bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The point up to which `holds`, by halving until nothing lies between."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return (low + high) / 2


def reference_lower(losses: int, gains: int, n: int, alpha: float) -> float:
    """The lower bound with the restricted likelihood maximised numerically, by its slope, at every difference."""
    z = float(norm.isf(alpha))

    def surplus_is_positive(difference: float) -> bool:
        def slope_is_positive(loss_rate: float) -> bool:
            rising = (losses / loss_rate if losses else 0) + (gains / (loss_rate + difference) if gains else 0)
            others = n - losses - gains
            return rising > (2 * others / (1 - 2 * loss_rate - difference) if others else 0)

        loss_rate = bisect(slope_is_positive, max(0.0, -difference), (1 - difference) / 2)
        variance = 2 * loss_rate + difference - difference**2
        return gains - losses - n * difference > z * math.sqrt(max(0.0, n * variance))

    estimate = (gains - losses) / n
    # The statistic is 0/0 at an estimate of no discordance, so the search stops short of it.
    return bisect(surplus_is_positive, -1.0, estimate - 1e-12)


@pytest.mark.parametrize(("losses", "gains", "n", "alpha", "lower", "upper"), GOLDEN)
def test_reference_values(losses: int, gains: int, n: int, alpha: float, lower: float, upper: float) -> None:
    assert bounds(losses, gains, n, alpha) == pytest.approx((lower, upper), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(tables(), ALPHAS)
@example((0, 0, 180), 0.05)
@example((21, 0, 21), 0.05)
@example((0, 21, 21), 0.05)
@example((20, 1, 21), 0.05)
def test_agrees_with_the_numeric_likelihood(table: tuple[int, int, int], alpha: float) -> None:
    losses, gains, n = table
    lower, upper = bounds(losses, gains, n, alpha)
    assert lower == pytest.approx(reference_lower(losses, gains, n, alpha), abs=1e-8)
    assert upper == pytest.approx(-reference_lower(gains, losses, n, alpha), abs=1e-8)


@settings(deadline=None)
@given(tables(), ALPHAS)
def test_the_bounds_hold_the_estimate_between_minus_one_and_one(table: tuple[int, int, int], alpha: float) -> None:
    losses, gains, n = table
    lower, upper = bounds(losses, gains, n, alpha)
    assert -1 <= lower <= (gains - losses) / n <= upper <= 1


@settings(deadline=None)
@given(tables(), ALPHAS, st.floats(0.001, 0.999))
def test_the_test_and_the_bound_agree(table: tuple[int, int, int], alpha: float, margin: float) -> None:
    losses, gains, n = table
    lower, _ = bounds(losses, gains, n, alpha)
    if abs(lower + margin) > 1e-9:
        assert exceeds(losses, gains, n, -margin, alpha) == (lower > -margin)


def test_at_no_difference_the_test_is_mcnemars() -> None:
    for losses, gains in [(5, 15), (8, 9), (3, 30)]:
        mcnemar = (gains - losses) / math.sqrt(gains + losses)
        for alpha in (0.001, 0.01, 0.05, 0.4):
            assert exceeds(losses, gains, 100, 0.0, alpha) == (mcnemar > norm.isf(alpha))


def test_a_wider_margin_of_error_gives_a_wider_interval() -> None:
    narrow, wide = bounds(5, 2, 180, 0.1), bounds(5, 2, 180, 0.01)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_fractional_counts_lie_between_whole_ones() -> None:
    lowers = [bounds(losses, 2.5, 90.5, 0.05)[0] for losses in (4, 4.25, 4.75, 5)]
    assert lowers == sorted(lowers, reverse=True)
    assert len(set(lowers)) == 4


@pytest.mark.parametrize("losses", [1e-300, 1e-14, 1e-10, 1e-6])
def test_a_trace_of_discordance_is_near_none(losses: float) -> None:
    assert bounds(losses, 0, 180, 0.05)[0] == pytest.approx(bounds(0, 0, 180, 0.05)[0], abs=1e-7)


def test_counts_that_rounding_put_above_n_are_n() -> None:
    """A division of counts and n by the same number may leave their ratio a hair above 1."""
    assert bounds(21 * (1 + 1e-13), 0, 21, 0.05)[0] == -1
    assert bounds(0, 21 * (1 + 1e-13), 21, 0.05)[1] == 1


def test_items_to_decide_is_where_the_scaled_table_starts_to_pass() -> None:
    items = items_to_decide(5, 2, 180, 0.04, 0.05)
    assert items is not None
    passes = [exceeds(5 * n / 180, 2 * n / 180, n, -0.04, 0.05) for n in (items - 1, items)]
    assert passes == [False, True]


def test_items_to_decide_has_no_answer_at_just_the_margin() -> None:
    assert items_to_decide(5, 0, 50, 0.1, 0.05) is None


@pytest.mark.parametrize(
    ("losses", "gains", "n", "alpha", "message"),
    [
        (0, 0, 0, 0.05, "at least one judged pair"),
        (0, 0, -3, 0.05, "at least one judged pair"),
        (-1, 0, 10, 0.05, "cannot be negative"),
        (0, -0.5, 10, 0.05, "cannot be negative"),
        (6, 5, 10, 0.05, "more than the 10 pairs"),
        (math.nan, 0, 10, 0.05, "finite"),
        (0, 0, math.inf, 0.05, "finite"),
        (1, 1, 10, 0.0, "alpha"),
        (1, 1, 10, 0.5, "alpha"),
        (1, 1, 10, math.nan, "alpha"),
    ],
)
def test_impossible_counts_are_refused(losses: float, gains: float, n: float, alpha: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bounds(losses, gains, n, alpha)
