"""Seeded simulations of what cannot be enumerated: several runs of an item, and items that come in clusters.

A rate is the share of simulated comparisons that the gate's score test passes at one-sided 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import t

from registry.gate.repeats import counts_from_sums
from registry.gate.tango import gap_and_spread, z_value

Array = npt.NDArray[np.float64]
ALPHA = 0.05
SIZES = (4, 9, 5, 8, 6, 7)  # of clusters, in turn


@dataclass(frozen=True)
class Truth:
    """A candidate: items in a comparison, and the probabilities that an item is a loss and that it is a gain."""

    n: int
    loss_rate: float
    gain_rate: float

    @property
    def psi(self) -> float:
        return self.loss_rate + self.gain_rate

    @property
    def drop(self) -> float:
        return self.loss_rate - self.gain_rate


def losing(n: int, drop: float, psi: float) -> Truth:
    """The candidate with this true drop that disagrees with the baseline on a share `psi` of its items."""
    return Truth(n, (psi + drop) / 2, (psi - drop) / 2)


def passes(losses: Array, gains: Array, n: Array | float, margin: float) -> npt.NDArray[np.bool_]:
    """The gate's test on arrays of tables; only the ratios of an array `n` to the counts need be whole."""
    # Numerator and denominator of n items are those of one item with rates, times n and the root of n.
    gap, spread = gap_and_spread(losses / n, gains / n, 1.0, -margin)
    return np.asarray(np.sqrt(n) * gap > z_value(ALPHA) * spread)


# How much of the losses and of the gains is the same in every run of an item; the rest is drawn anew in each run.
KINDS: Mapping[str, tuple[float, float]] = {
    "none by chance": (1.0, 1.0),
    "half by chance": (0.5, 0.5),
    "all by chance": (0.0, 0.0),
    "gains by chance": (1.0, 0.0),
    "gains and some losses by chance": (0.8, 0.0),
    "losses by chance": (0.0, 1.0),
}


Sums = tuple[Array, Array, Array]


def repeated_sums(truth: Truth, runs: int, kind: str, count: int, rng: np.random.Generator) -> Sums:
    """Sums of d, of d^2 of losses and of d^2 of gains, in `count` comparisons of `runs` runs per item."""
    same_losses, same_gains = KINDS[kind]
    fixed_loss, fixed_gain = truth.loss_rate * same_losses, truth.gain_rate * same_gains
    others = 1 - fixed_loss - fixed_gain
    loss, gain = (truth.loss_rate - fixed_loss) / others, (truth.gain_rate - fixed_gain) / others
    chance = np.array([1.0])
    for _ in range(runs):
        chance = np.convolve(chance, [gain, 1 - loss - gain, loss])
    chance *= others
    chance[0] += fixed_gain
    chance[-1] += fixed_loss
    chance = np.maximum(chance, 0)  # a rate of 0 may come out a hair below it
    # Items are alike before they are drawn, so it is enough to draw how many of them have each of the 2 runs + 1 d's.
    items = rng.multinomial(truth.n, chance, size=count)
    values = np.arange(-runs, runs + 1) / runs
    return items @ values, items @ np.maximum(values, 0) ** 2, items @ np.minimum(values, 0) ** 2


def repeated_rate(truth: Truth, margin: float, sums: Sums) -> float:
    """How often the gate passes with the counts of `registry.gate.repeats`."""
    losses, gains = counts_from_sums(*sums)
    return float(np.mean(passes(losses, gains, truth.n, margin)))


def repeated_t_rate(truth: Truth, margin: float, sums: Sums) -> float:
    """How often Student's t on the items' means over their runs passes, for comparison."""
    mean = sums[0] / truth.n
    error = np.sqrt(np.maximum((sums[1] + sums[2]) / truth.n - mean**2, 0) / (truth.n - 1))
    return float(np.mean(-mean - t.isf(ALPHA, truth.n - 1) * error > -margin))


def cluster_sizes(n: int) -> npt.NDArray[np.int64]:
    """Sizes of 4 to 9 that sum to `n`, of 17 or more."""
    found: list[int] = []
    while n - sum(found) > 17:
        found.append(SIZES[len(found) % len(SIZES)])
    rest = n - sum(found)
    return np.array([*found, rest // 2, rest - rest // 2] if rest > 9 else [*found, rest])


@dataclass(frozen=True)
class Clustered:
    """Losses and gains by comparison (down) and cluster (across), with the sizes of the clusters."""

    losses: Array
    gains: Array
    sizes: Array


def clustered(truth: Truth, deff: float, count: int, rng: np.random.Generator) -> Clustered:
    """`count` comparisons whose clusters draw their own rates from a Dirichlet distribution: beta-binomial counts.

    With precision a the correlation of two items of a cluster is 1 / (1 + a), and the design effect
    1 + correlation * (sum of squared sizes / n - 1) exactly; a is chosen for `deff`, which has to be above 1.
    """
    sizes = cluster_sizes(truth.n)
    correlation = (deff - 1) / (np.sum(sizes**2) / truth.n - 1)
    precision = (1 - correlation) / correlation
    means = (truth.loss_rate, truth.gain_rate, 1 - truth.psi)
    lost, gained, same = (rng.standard_gamma(mean * precision, size=(count, len(sizes))) for mean in means)
    losses = rng.binomial(sizes, lost / (lost + gained + same))
    gains = rng.binomial(sizes - losses, gained / (gained + same))
    return Clustered(losses.astype(float), gains.astype(float), sizes.astype(float))


def clustered_rate(truth: Truth, margin: float, drawn: Clustered, deff: Array | float) -> float:
    """How often the gate passes with counts and n divided by `deff`, one for all or one per comparison."""
    losses, gains = drawn.losses.sum(axis=1), drawn.gains.sum(axis=1)
    return float(np.mean(passes(losses / deff, gains / deff, truth.n / deff, margin)))


def estimated_deffs(drawn: Clustered) -> Array:
    """`registry.gate.clusters.design_effect` of every comparison, for all at once."""
    sums = drawn.losses - drawn.gains
    n, clusters = drawn.sizes.sum(), len(drawn.sizes)
    mean = sums.sum(axis=1) / n
    between = np.sum((sums - drawn.sizes * mean[:, None]) ** 2, axis=1) * clusters / (clusters - 1)
    within = ((drawn.losses + drawn.gains).sum(axis=1) - n * mean**2) * n / (n - 1)
    ratio = np.divide(between, within, out=np.ones_like(within), where=within > 1e-9)
    return np.asarray(np.maximum(1.0, ratio))
