"""Rules that pipelines use to accept a candidate, and the gate's own among them. Every one-sided level is 5 %.

A rule answers with two arrays over a grid of paired tables: the probability of PASS and of FAIL given the table (0 or
1, but for a rule that also looks at the items right or wrong on both sides).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.stats import binom, norm, t

from registry.gate import tango
from registry.gate.mcnemar import mid_p
from tests.registry.gate.paired_grid import TAIL, Array, Grid, Rule, Verdicts, staircase

ALPHA = 0.05


def interval_rule(exceeds: Callable[[Array, Array, int, float], Array]) -> Rule:
    """PASS where the lower bound is above -margin, FAIL where the upper bound is below it.

    `exceeds` says of losses, gains, n and a difference whether (or how likely) the lower bound of (gains - losses) / n
    is above the difference. The upper bound is the lower one of the exchanged table, negated.
    """

    def verdicts(tables: Grid, margin: float) -> Verdicts:
        passed = exceeds(tables.losses, tables.gains, tables.n, -margin)
        failed = exceeds(tables.gains, tables.losses, tables.n, margin)
        return passed.astype(np.float64), failed.astype(np.float64)

    return verdicts


def monotone_interval_rule(exceeds: Callable[[int, int, int, float], bool]) -> Rule:
    """The same for one table at a time, where a further loss never helps and a further gain never harms."""

    def verdicts(tables: Grid, margin: float) -> Verdicts:
        shape = tables.losses.shape
        passed = staircase(shape, lambda losses, gains: exceeds(losses, gains, tables.n, -margin))
        failed = staircase(shape[::-1], lambda gains, losses: exceeds(gains, losses, tables.n, margin))
        return passed, failed.T

    return verdicts


def tango_score(losses: int, gains: int, n: int, difference: float) -> bool:
    """The gate's own test; false for a table beyond n, which is never drawn."""
    return losses + gains <= n and tango.exceeds(losses, gains, n, difference, ALPHA)


def wald(losses: Array, gains: Array, n: int, difference: float) -> Array:
    """Estimate less z standard errors."""
    estimate = (gains - losses) / n
    error = np.sqrt(np.maximum((losses + gains) / n - estimate**2, 0) / n)
    return np.asarray(estimate - norm.isf(ALPHA) * error > difference)


def paired_t(losses: Array, gains: Array, n: int, difference: float) -> Array:
    """Student's t on the items' differences of -1, 0 and 1."""
    estimate = (gains - losses) / n
    error = np.sqrt(np.maximum((losses + gains) / n - estimate**2, 0) / (n - 1))
    return np.asarray(estimate - t.isf(ALPHA, n - 1) * error > difference)


def newcombe_lower(losses: Array, gains: Array, right: Array, n: int, alpha: float) -> Array:
    """The lower bound of (gains - losses) / n, one-sided at `alpha`; `right` counts the items right on both sides.

    Source: R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions based on
    paired data", Statistics in Medicine 17 (1998), 2635-2650, method 10: Wilson's limits of both accuracies, joined
    with the correlation phi, whose numerator is brought nearer to 0 by n / 2 where it is positive.
    """
    before, after = (right + losses).astype(int), (right + gains).astype(int)
    below, above, spread = _wilson(n, alpha)
    to_upper, to_lower = above[before], below[after]
    product = right * (n - losses - gains - right) - losses * gains
    numerator = np.where(product > 0, np.maximum(product - n / 2, 0), product)
    phi = numerator / (spread[before] * spread[after])
    return np.asarray((gains - losses) / n - np.sqrt(to_lower**2 - 2 * phi * to_lower * to_upper + to_upper**2))


def _wilson(n: int, alpha: float) -> tuple[Array, Array, Array]:
    """For counts 0 … n: how far Wilson's limits lie below and above the rate, and the root of count * (n - count).

    The root is infinite where it is 0: the correlation of a margin that does not vary is taken as 0.
    """
    z = float(norm.isf(alpha))
    counts = np.arange(n + 1)
    rate, root = counts / n, np.sqrt(counts * (n - counts))
    half = z * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    centre = rate + z * z / (2 * n)
    shrunk = 1 + z * z / n
    return rate - (centre - half) / shrunk, (centre + half) / shrunk - rate, np.where(root > 0, root, np.inf)


def newcombe(share: float) -> Rule:
    """Newcombe's interval where each agreeing item is right with probability `share`: exact over how many are."""

    def exceeds(losses: Array, gains: Array, n: int, difference: float) -> Array:
        agreeing = np.maximum(n - losses - gains, 0).astype(int)
        fewest = int(agreeing.min())
        right = np.arange(int(binom.isf(1 - TAIL, fewest, share)), int(binom.isf(TAIL, n, share)) + 2)
        likely = binom.pmf(right, np.arange(fewest, n + 1)[:, None], share)
        found = np.zeros(losses.shape)
        for row in range(losses.shape[0]):
            both = np.minimum(right, agreeing[row][:, None])  # beyond, the probability is 0
            above = newcombe_lower(losses[row][:, None], gains[row][:, None], both, n, ALPHA) > difference
            found[row] = np.einsum("ij,ij->i", likely[agreeing[row] - fewest], above)
        return found

    return interval_rule(exceeds)


def bootstrap_tail(losses: int, gains: int, n: int, difference: float) -> float:
    """The share of resamples of the n items, in the limit of many, whose (gains - losses) / n is `difference` or less.

    A resample has K ~ Bin(n, psi) disagreeing items, of which Bin(K, losses / (losses + gains)) are losses.
    """
    discordant = losses + gains
    if discordant == 0:
        return float(difference >= 0)
    drawn = np.arange(n + 1)
    enough = np.ceil((drawn - difference * n) / 2 - 1e-9)  # losses among K from which the resample counts
    return float(np.sum(binom.pmf(drawn, n, discordant / n) * binom.sf(enough - 1, drawn, losses / discordant)))


def bootstrap(losses: int, gains: int, n: int, difference: float) -> bool:
    """Whether the 5 % percentile of the bootstrap distribution lies above the difference."""
    return losses + gains <= n and bootstrap_tail(losses, gains, n, difference) < ALPHA


def point(tables: Grid, margin: float) -> Verdicts:
    """PASS where the drop seen is the margin or less, else FAIL."""
    passed = tables.losses - tables.gains <= margin * tables.n + 1e-9
    return passed.astype(np.float64), (~passed).astype(np.float64)


def not_significantly_worse(tables: Grid, _margin: float) -> Verdicts:
    """FAIL where losses prevail and McNemar's two-sided mid-p is 5 % or less, else PASS, whatever the margin."""
    passed = staircase(tables.losses.shape, lambda losses, gains: losses <= gains or mid_p(losses, gains) > ALPHA)
    return passed, 1 - passed


RULES: Mapping[str, Rule] = {
    "Tango score (this gate)": monotone_interval_rule(tango_score),
    "Newcombe hybrid score, 95 % right": newcombe(0.95),
    "Newcombe hybrid score, 80 % right": newcombe(0.8),
    "Newcombe hybrid score, 50 % right": newcombe(0.5),
    "Wald": interval_rule(wald),
    "percentile bootstrap": monotone_interval_rule(bootstrap),
    "paired t on the items": interval_rule(paired_t),
    "drop seen is at most the margin": point,
    "not significantly worse (mid-p McNemar)": not_significantly_worse,
}
