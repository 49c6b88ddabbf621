"""The closed form of the gate's interval against a numeric maximum likelihood, on a thousand tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from registry.gate import tango
from tests.registry.gate import tango_reference

TABLES = 1000
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


def drawn_tables() -> list[tuple[int, int, int, float]]:
    """Seeded: losses, gains, n and alpha; a third sparse as at a gate, a third of any size, a third at an edge."""
    rng = np.random.default_rng(20_240)
    found = []
    for index in range(TABLES):
        n = int(rng.integers(1, 701))
        kind = index % 3
        discordant = int(rng.binomial(n, rng.uniform(0, 0.2))) if kind == 0 else int(rng.integers(0, n + 1))
        losses = int(rng.choice([0, discordant])) if kind == 2 else int(rng.integers(0, discordant + 1))
        found.append((losses, discordant - losses, n, float(rng.choice([0.005, 0.025, 0.05, 0.1]))))
    return found


def test_a_thousand_tables_agree_to_1e_8() -> None:
    tables = drawn_tables()
    closed = np.array([tango.bounds(losses, gains, n, alpha) for losses, gains, n, alpha in tables])
    numeric = np.array([tango_reference.bounds((losses, gains, n), alpha) for losses, gains, n, alpha in tables])
    furthest = np.abs(closed - numeric).max(axis=1)
    assert furthest.max() <= 1e-8, tables[int(furthest.argmax())]


@pytest.mark.parametrize(("losses", "gains", "n", "alpha", "lower", "upper"), GOLDEN)
def test_both_ways_give_the_reference_values(
    losses: int, gains: int, n: int, alpha: float, lower: float, upper: float
) -> None:
    assert tango.bounds(losses, gains, n, alpha) == pytest.approx((lower, upper), abs=1e-6)
    assert tango_reference.bounds((losses, gains, n), alpha) == pytest.approx((lower, upper), abs=1e-6)


@pytest.mark.parametrize("table", [(7, 1, 21), (5, 2, 180), (0, 3, 40), (4, 0, 40), (30, 10, 40), (0, 0, 30)])
@pytest.mark.parametrize("difference", [-0.3, -0.02, 0.0, 0.04])
def test_the_reference_finds_the_largest_likelihood(table: tuple[int, int, int], difference: float) -> None:
    low, high = max(0.0, -difference), (1 - difference) / 2

    def minus_log_likelihood(loss_rate: float) -> float:
        return -tango_reference.log_likelihood(table, difference, loss_rate)

    found = tango_reference.likeliest_loss_rate(table, difference)
    searched = minimize_scalar(minus_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    assert low <= found <= high
    assert minus_log_likelihood(found) <= searched.fun + 1e-9
    assert found == pytest.approx(searched.x, abs=1e-6)
