"""A slow second way to the score interval of a paired difference: the restricted likelihood maximised numerically.

Nothing here is shared with `registry.gate.tango` and nothing is solved in closed form. At every difference tried, the
rates that are likeliest under it are found by `scipy.optimize`, and the bound by a search over the differences.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.stats import norm

# brentq's own smallest tolerance; beside rates of 1e-3 and more it leaves ten digits.
XTOL, RTOL = 1e-15, 1e-14
INSIDE = 1e-13  # the slope is infinite at a rate of 0, so the search stays this far inside


def log_likelihood(table: tuple[int, int, int], difference: float, loss_rate: float) -> float:
    """Log-likelihood of (losses, gains, n) at P(loss) = `loss_rate` and P(gain) = P(loss) + `difference`."""
    losses, gains, n = table
    rates = (loss_rate, loss_rate + difference, 1 - 2 * loss_rate - difference)
    total = 0.0
    for count, rate in zip((losses, gains, n - losses - gains), rates, strict=True):
        if count:
            total += count * math.log(rate) if rate > 0 else -math.inf
    return total


def likeliest_loss_rate(table: tuple[int, int, int], difference: float) -> float:
    """The P(loss) that maximises the likelihood among all tables of rates with exactly this difference.

    The log-likelihood is concave in the one free rate: its maximum is where its slope is 0, else at an end.
    """
    losses, gains, n = table
    neither = n - losses - gains
    low, high = max(0.0, -difference), (1 - difference) / 2

    def slope(rate: float) -> float:
        terms = ((losses, 1.0, rate), (gains, 1.0, rate + difference), (neither, -2.0, 1 - 2 * rate - difference))
        return sum(weight * count / at for count, weight, at in terms if count)

    first, last = low + INSIDE * (high - low), high - INSIDE * (high - low)
    if first >= last or slope(first) <= 0:
        return low
    if slope(last) >= 0:
        return high
    return float(brentq(slope, first, last, xtol=XTOL, rtol=RTOL))


def lower(table: tuple[int, int, int], alpha: float) -> float:
    """The lower bound of P(gain) - P(loss) at one-sided level `alpha`."""
    losses, gains, n = table
    z = float(norm.isf(alpha))

    def surplus(difference: float) -> float:
        loss_rate = likeliest_loss_rate(table, difference)
        variance = 2 * loss_rate + difference - difference * difference
        return gains - losses - n * difference - z * math.sqrt(max(0.0, n * variance))

    if losses == n:
        return -1.0
    # Where no item disagrees, or all are gains, the statistic is 0/0 at the estimate itself.
    estimate = (gains - losses) / n - 1e-12
    return float(brentq(surplus, -1.0, estimate, xtol=XTOL, rtol=RTOL))


def bounds(table: tuple[int, int, int], alpha: float) -> tuple[float, float]:
    """Both bounds, each one-sided at `alpha`; the upper one is the lower one of the exchanged table, negated."""
    losses, gains, n = table
    return lower(table, alpha), -lower((gains, losses, n), alpha)
