"""Paired tables of n items with their exact probabilities, and the error rates of any rule that decides by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlogy
from scipy.stats import binom

Array = npt.NDArray[np.float64]
TOP_PSI = 0.25
TAIL = 1e-12


@dataclass(frozen=True)
class Grid:
    """All tables of n items that are likelier than about 1e-12 while psi is at most 25 %: losses down, gains across."""

    n: int
    losses: Array
    gains: Array

    def probability(self, loss_rate: float, gain_rate: float) -> Array:
        """The exact probability of each table: the trinomial of n independent items."""
        rest, log_ways = self._ways
        chance = xlogy(self.losses, loss_rate) + xlogy(self.gains, gain_rate)
        return np.asarray(np.exp(log_ways + chance + xlogy(rest, 1 - loss_rate - gain_rate)))

    @cached_property
    def _ways(self) -> tuple[Array, Array]:
        """The items on which both agree, and the logarithm of how many ways there are to get each table."""
        rest = self.n - self.losses - self.gains
        possible = rest >= 0
        rest = np.maximum(rest, 0)
        log_ways = gammaln(self.n + 1) - gammaln(self.losses + 1) - gammaln(self.gains + 1) - gammaln(rest + 1)
        return rest, np.where(possible, log_ways, -np.inf)


def grid(n: int, margin: float) -> Grid:
    """The grid for true losses of 0 to `margin`."""
    most = [int(binom.isf(TAIL, n, (max(TOP_PSI, margin) + drop) / 2)) + 1 for drop in (margin, 0.0)]
    losses, gains = np.meshgrid(*(np.arange(min(n, count) + 1.0) for count in most), indexing="ij")
    return Grid(n, losses, gains)


# Probabilities of PASS and of FAIL given each table of a grid.
Verdicts = tuple[Array, Array]
Rule = Callable[[Grid, float], Verdicts]


def staircase(shape: tuple[int, ...], holds: Callable[[int, int], bool]) -> Array:
    """1 where `holds`, else 0, asked along the border only: a higher row never helps, a higher column never harms."""
    rows, columns = shape
    found = np.zeros((rows, columns))
    most = -1
    for column in range(columns):
        while most + 1 < rows and holds(most + 1, column):
            most += 1
        found[: most + 1, column] = 1
    return found


@dataclass(frozen=True)
class ErrorRates:
    """What one rule does at one gate. Probabilities; `at_psi` maps psi to the false PASS there.

    `false_pass` and `false_fail` are the largest probabilities of PASS and of FAIL at a true loss of exactly the margin
    (FAIL: of a hair less) over psi from the margin to 25 %. `equal_pass` and `equal_fail` are those of a candidate
    equal to the baseline.
    """

    false_pass: float
    false_fail: float
    at_psi: Mapping[float, float]
    equal_pass: float
    equal_fail: float


def error_rates(
    rules: Mapping[str, Rule], tables: Grid, margin: float, psis: Sequence[float], equal_psi: float
) -> dict[str, ErrorRates]:
    """Every rule on the tables of a gate: exact sums over the trinomial, the worst of 241 psi and 21 about it.

    `psis` below the margin are left out, since no loss of the margin has them.
    """
    equal = tables.probability(equal_psi / 2, equal_psi / 2)
    coarse = {psi: _at_the_margin(tables, margin, psi) for psi in np.linspace(margin, _top(margin), 241).tolist()}
    given = {psi: _at_the_margin(tables, margin, psi) for psi in psis if psi >= margin}
    found = {}
    for name, rule in rules.items():
        passed, failed = rule(tables, margin)
        found[name] = ErrorRates(
            false_pass=_worst(passed, coarse, tables, margin),
            false_fail=_worst(failed, coarse, tables, margin),
            at_psi={psi: float(np.sum(chance * passed)) for psi, chance in given.items()},
            equal_pass=float(np.sum(equal * passed)),
            equal_fail=float(np.sum(equal * failed)),
        )
    return found


def _worst(verdict: Array, coarse: Mapping[float, Array], tables: Grid, margin: float) -> float:
    rates = {psi: float(np.sum(chance * verdict)) for psi, chance in coarse.items()}
    near = max(rates, key=lambda psi: rates[psi])
    step = (_top(margin) - margin) / 240
    about = np.linspace(max(margin, near - step), min(_top(margin), near + step), 21).tolist()
    return max([rates[near], *(float(np.sum(_at_the_margin(tables, margin, psi) * verdict)) for psi in about)])


def _top(margin: float) -> float:
    return max(TOP_PSI, margin)


def _at_the_margin(tables: Grid, margin: float, psi: float) -> Array:
    return tables.probability((psi + margin) / 2, (psi - margin) / 2)
