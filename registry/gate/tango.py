"""The score interval of a paired difference of proportions, with the restricted maximum likelihood in closed form.

Source: T. Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample
design", Statistics in Medicine 17 (1998), 891-908. At difference 0 the statistic is McNemar's.

`losses` (baseline right, candidate wrong) and `gains` (the reverse) may be fractional, as may `n`. Differences are
(candidate - baseline) as fractions, in -1 to 1: a loss is negative.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import norm

Array = npt.NDArray[np.float64]
XTOL = 1e-15
NONE = 1e-12


def z_value(alpha: float) -> float:
    """The upper `alpha` quantile of the standard normal. Raises ValueError unless 0 < alpha < 0.5."""
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha is {alpha}; give a one-sided level above 0 and below 0.5")
    return float(norm.isf(alpha))


def check_counts(losses: float, gains: float, n: float) -> None:
    """Raise ValueError unless the counts are finite, none is negative, n is above 0 and they fit into n."""
    if not all(map(math.isfinite, (losses, gains, n))):
        raise ValueError(f"losses {losses}, gains {gains}, n {n}: give finite numbers")
    if n <= 0:
        raise ValueError(f"n is {n}; a comparison needs at least one judged pair")
    if losses < 0 or gains < 0:
        raise ValueError(f"losses {losses}, gains {gains}: counts cannot be negative")
    if losses + gains > n * (1 + 1e-12):
        raise ValueError(f"losses {losses} and gains {gains} are more than the {n} pairs they are part of")


def gap_and_spread(losses: Array, gains: Array, n: float, difference: float) -> tuple[Array, Array]:
    """Numerator and denominator of the score statistic at `difference`, both in items; the spread is 0 or more.

    The gap is (gains - losses) - n * difference. The spread is the standard error of (gains - losses) under the
    rates that are most likely among those with exactly this difference.
    """
    # By symmetry only differences of 0 or less need solving, where the quadratic's root adds and never cancels.
    wins, falls = (losses, gains) if difference > 0 else (gains, losses)
    low = -abs(difference)
    a = 2.0 * n
    b = -wins - falls + (2.0 * n - wins + falls) * low
    c = -falls * low * (1.0 - low)
    falling_rate = (np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0)) - b) / (2.0 * a)
    variance = np.maximum(2.0 * falling_rate + low * (1.0 - low), 0.0)
    if low == -1.0:  # exactly nothing is left to vary, where rounding leaves a trace
        variance = np.zeros_like(variance)
    return (gains - losses) - n * difference, np.sqrt(n * variance)


def exceeds(losses: float, gains: float, n: float, difference: float, alpha: float) -> bool:
    """Whether the lower bound at one-sided level `alpha` lies above `difference`: the score test itself, no root."""
    check_counts(losses, gains, n)
    gap, spread = _of_one(losses, gains, n, difference)
    return gap > z_value(alpha) * spread


def items_to_decide(losses: float, gains: float, n: float, margin: float, alpha: float) -> int | None:
    """How many items would decide (PASS or FAIL) if rates stayed as observed; None for a drop of just the margin.

    With the rates fixed the score's gap grows with n and its spread with the root of n, hence a closed form.
    """
    check_counts(losses, gains, n)
    gap, spread = _of_one(losses, gains, n, -margin)
    if gap == 0:
        return None
    return math.floor(n * (z_value(alpha) * spread / gap) ** 2) + 1


def bounds(losses: float, gains: float, n: float, alpha: float) -> tuple[float, float]:
    """Lower and upper bound of (candidate - baseline), each one-sided at `alpha`: a 1 - 2 alpha interval.

    Both lie in -1 to 1. Raises ValueError for negative or non-finite counts, for n of 0, for counts above n and for
    an alpha outside 0 to 0.5.
    """
    check_counts(losses, gains, n)
    z = z_value(alpha)
    return _lower(losses, gains, n, z), -_lower(gains, losses, n, z)


def _lower(losses: float, gains: float, n: float, z: float) -> float:
    if losses + gains < NONE:
        # The statistic is 0/0 at its own estimate; its equation at a loss x is n x = z^2 (1 - x).
        return -(z * z) / (n + z * z)
    if losses >= n:
        return -1.0
    if gains >= n:
        # 0/0 at the estimate again; the equation is n (1 - d) = z^2 (1 + d).
        return (n - z * z) / (n + z * z)

    def surplus(difference: float) -> float:
        gap, spread = _of_one(losses, gains, n, difference)
        return gap - z * spread

    estimate = (gains - losses) / n
    return float(brentq(surplus, -1.0, estimate, xtol=XTOL, rtol=4 * np.finfo(float).eps))


def _of_one(losses: float, gains: float, n: float, difference: float) -> tuple[float, float]:
    gap, spread = gap_and_spread(np.array(losses, dtype=np.float64), np.array(gains, dtype=np.float64), n, difference)
    return float(gap), float(spread)
