"""Several runs folded into losses and gains: what the counts must keep, and that the gate keeps its error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.gate.repeats import counts, counts_from_sums
from registry.gate.tango import bounds, exceeds
from tests.registry.gate.simulated_runs import KINDS, losing, passes, repeated_rate, repeated_sums, repeated_t_rate

GATES = [(640, 0.025), (180, 0.05), (180, 0.04), (96, 0.12), (48, 0.16)]
COMPARISONS = 20_000
MEANS = st.integers(1, 5).flatmap(
    lambda runs: st.lists(st.integers(-runs, runs).map(lambda sum_: sum_ / runs), min_size=1, max_size=60)
)


@pytest.mark.parametrize(
    ("differences", "losses", "gains"),
    [
        ([], 0, 0),
        ([0, 0, 0], 0, 0),
        ([1, 1, -1, 0], 2, 1),
        ([0.5, -0.5], 0.25, 0.25),
        ([1, 0.5, -0.5], 1.25, 0.25),
        ([1, -0.25, -0.25], 1, 0.5),  # losses of 0.8125 would be less than the one that stays in every run
        ([0.25, 0.25, -1], 0.5, 1),
        ([0.5, 0.5], 1, 0),  # S2 = 0.5 is less than S1 = 1: all of the difference is loss
        ([-0.5, -0.5], 0, 1),
        ([1 / 3] * 3, 1, 0),
    ],
)
def test_counts_by_hand(differences: list[float], losses: float, gains: float) -> None:
    assert counts(differences) == pytest.approx((losses, gains), abs=1e-15)


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=200))
def test_one_run_gives_the_counted_losses_and_gains_exactly(differences: list[int]) -> None:
    assert counts(differences) == (differences.count(1), differences.count(-1))


@given(MEANS)
def test_the_drop_is_kept_and_the_variance_is_never_less_than_seen(differences: list[float]) -> None:
    losses, gains = counts(differences)
    assert losses >= 0 <= gains
    assert losses + gains <= len(differences) + 1e-9
    assert losses - gains == pytest.approx(math.fsum(differences), abs=1e-12)
    seen = math.fsum(difference**2 for difference in differences)
    assert losses + gains >= seen - 1e-12
    assert losses >= math.fsum(difference**2 for difference in differences if difference > 0) - 1e-12
    assert gains >= math.fsum(difference**2 for difference in differences if difference < 0) - 1e-12


@given(MEANS)
def test_exchanging_the_sides_exchanges_the_counts(differences: list[float]) -> None:
    losses, gains = counts(differences)
    assert counts([-difference for difference in differences]) == pytest.approx((gains, losses), abs=1e-12)


@given(MEANS, st.integers(0, 1000))
def test_the_order_of_the_items_does_not_matter(differences: list[float], seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(differences).tolist()
    assert counts(shuffled) == counts(differences)


@given(MEANS)
def test_the_interval_takes_the_counts(differences: list[float]) -> None:
    losses, gains = counts(differences)
    lower, upper = bounds(losses, gains, len(differences), 0.05)
    assert lower <= -math.fsum(differences) / len(differences) + 1e-9 <= upper + 2e-9


@pytest.mark.parametrize("difference", [1.01, -1.5, math.nan, math.inf])
def test_a_mean_that_is_none_is_refused(difference: float) -> None:
    with pytest.raises(ValueError, match="item 1: difference"):
        counts([0.5, difference])


def test_the_simulation_decides_as_the_gate_does() -> None:
    rng = np.random.default_rng(3)
    sums = repeated_sums(losing(180, 0.04, 0.1), 3, "half by chance", 200, rng)
    losses, gains = counts_from_sums(*sums)
    decided = [exceeds(*table, 180, -0.04, 0.05) for table in zip(losses.tolist(), gains.tolist(), strict=True)]
    assert passes(losses, gains, 180, 0.04).tolist() == decided


@pytest.mark.parametrize("runs", [2, 3, 5])
@pytest.mark.parametrize(("n", "margin"), GATES)
def test_a_true_loss_of_the_margin_passes_in_6_percent_at_most(n: int, margin: float, runs: int) -> None:
    rng = np.random.default_rng(17)
    for kind in KINDS:
        for psi in (margin, margin + 0.02, margin + 0.06, 0.25):
            truth = losing(n, margin, psi)
            rate = repeated_rate(truth, margin, repeated_sums(truth, runs, kind, COMPARISONS, rng))
            assert rate <= 0.06, (kind, psi)


def test_runs_help_where_the_server_is_not_deterministic_and_only_there() -> None:
    rng = np.random.default_rng(5)
    equal = losing(180, 0.0, 0.04)
    power = {
        (kind, runs): repeated_rate(equal, 0.04, repeated_sums(equal, runs, kind, COMPARISONS, rng))
        for kind in ("none by chance", "all by chance")
        for runs in (1, 3)
    }
    assert power["none by chance", 3] == pytest.approx(power["none by chance", 1], abs=0.02)
    assert power["all by chance", 3] > power["all by chance", 1] + 0.1


def test_a_t_interval_on_the_items_means_lets_more_pass() -> None:
    rng = np.random.default_rng(7)
    truth = losing(180, 0.05, 0.05)
    sums = repeated_sums(truth, 3, "none by chance", COMPARISONS, rng)
    assert repeated_t_rate(truth, 0.05, sums) > 0.09
    assert repeated_rate(truth, 0.05, sums) <= 0.06
