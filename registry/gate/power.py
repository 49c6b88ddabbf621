"""What a non-inferiority gate can decide: critical counts, exact error rates and power, items needed.

Everything is summed over the trinomial (gain, loss, neither) of n independent items through the table of critical
counts; nothing is simulated and no approximation is used where it says exact. Margins and rates are fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, norm

from registry.gate.tango import gap_and_spread, z_value

Counts = npt.NDArray[np.int64]
PSIS = (0.02, 0.04, 0.06, 0.08)
PLANNED_PSI = 0.04
TARGET_POWER = 0.8
MAX_FALSE_PASS = 0.055
TOP_PSI = 0.25
EXACT_UP_TO = 10_000


@dataclass(frozen=True)
class FalsePass:
    """The largest probability of PASS at a true loss of exactly the margin, and the psi it occurs at."""

    rate: float
    psi: float


def critical_losses(n: int, margin: float, alpha: float, gains: Counts) -> Counts:
    """For each number of gains the most losses that still PASS, -1 where not even none does."""
    z = z_value(alpha)

    def passes(losses: Counts) -> npt.NDArray[np.bool_]:
        gap, spread = gap_and_spread(losses.astype(float), gains.astype(float), n, -margin)
        return np.asarray(gap > z * spread)

    return _last_true(passes, n - gains)


def losses_that_fail(n: int, margin: float, alpha: float, gains: int) -> int | None:
    """The fewest losses that FAIL with these gains, None where no number of them would."""
    z = z_value(alpha)

    def does_not_fail(losses: Counts) -> npt.NDArray[np.bool_]:
        gap, spread = gap_and_spread(losses.astype(float), np.full(losses.shape, float(gains)), n, -margin)
        return np.asarray(gap >= -z * spread)

    fewest = int(_last_true(does_not_fail, np.array([n - gains]))[0]) + 1
    return fewest if fewest <= n - gains else None


def pass_probability(n: int, critical: Counts, loss_rate: float, gain_rate: float) -> float:
    """Exact probability of PASS. `critical[g]` is the most losses that PASS with g gains, for g = 0 … n."""
    reach = _reach(n, gain_rate)
    within = binom.cdf(critical[reach], n - reach, min(1.0, loss_rate / (1.0 - gain_rate)))
    return float(np.sum(binom.pmf(reach, n, gain_rate) * within))


def false_pass(n: int, margin: float, alpha: float) -> FalsePass:
    """The worst exact false-PASS rate at the boundary, over psi from the margin to 25 % (to the margin if larger)."""
    critical = critical_losses(n, margin, alpha, np.arange(n + 1))

    def rate(psi: float) -> float:
        return pass_probability(n, critical, (psi + margin) / 2, (psi - margin) / 2)

    def worst(psis: npt.NDArray[np.float64]) -> float:
        return float(max(psis, key=lambda psi: rate(float(psi))))

    top = max(TOP_PSI, margin)
    coarse = worst(np.linspace(margin, top, 241))
    step = (top - margin) / 240
    psi = worst(np.linspace(max(margin, coarse - step), min(top, coarse + step), 41))
    return FalsePass(rate(psi), psi)


def power(n: int, margin: float, alpha: float, psi: float) -> float:
    """Exact probability that a candidate equal to the baseline gets PASS when a share `psi` of items disagrees."""
    return pass_probability(n, critical_losses(n, margin, alpha, _reach(n, psi / 2)), psi / 2, psi / 2)


def smallest_margin(n: int, alpha: float, psi: float) -> float:
    """The smallest margin (a fraction, to 1e-5) at which an equal candidate has 80 % power on `n` items."""
    low, high = 0.0, 1.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if power(n, middle, alpha, psi) >= TARGET_POWER else (middle, high)
    return high


def items_needed(margin: float, alpha: float, psi: float = PLANNED_PSI) -> int:
    """The number of items from which on the power of an equal candidate stays at 80 % or more.

    Power rises with n in a saw-tooth: this is one above the last n that lacks it. Exact up to 10,000 items, beyond
    that the normal approximation.
    """
    quantiles = z_value(alpha) + float(norm.ppf(TARGET_POWER))
    about = max(psi * (quantiles / margin) ** 2, z_value(alpha) ** 2 * (1 - margin) / margin)
    if about > EXACT_UP_TO:
        return math.ceil(about)
    n = math.ceil(1.4 * about) + 40
    while n > 0 and power(n, margin, alpha, psi) >= TARGET_POWER:
        n -= 1
    return n + 1


def _reach(n: int, gain_rate: float) -> Counts:
    """Every number of gains that is likelier than about 1e-14."""
    return np.arange(int(binom.isf(1e-14, n, gain_rate)) + 1)


def _last_true(holds: Callable[[Counts], npt.NDArray[np.bool_]], most: Counts) -> Counts:
    """For each entry the largest count in 0 … `most` for which `holds`, -1 if none; true counts come first."""
    low, high = np.full(most.shape, -1), most + 1
    while np.any(high - low > 1):
        middle = (low + high) // 2
        true = holds(np.maximum(middle, 0)) & (middle >= 0)
        open_ = high - low > 1
        low = np.where(open_ & true, middle, low)
        high = np.where(open_ & ~true, middle, high)
    return low
