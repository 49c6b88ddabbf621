"""Exact binomial statements on one count: the interval of its rate, and the chance that a count rule is met."""

from __future__ import annotations

from scipy.stats import beta, binom


def clopper_pearson(count: int, n: int, alpha: float) -> tuple[float, float]:
    """The exact interval of the rate behind `count` of `n`, at level 1 - alpha with alpha / 2 on each side.

    Both bounds lie in 0 to 1 and enclose count / n; for a count of 0 the lower one is 0, for n the upper one 1. Unlike
    in `registry.gate.tango`, alpha is shared by the two sides: 0.05 gives the usual 95 % interval.
    Source: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934), 404-413, through quantiles of the beta distribution.
    Raises ValueError unless 0 <= count <= n, n >= 1 and 0 < alpha < 1.
    """
    if n < 1 or not 0 <= count <= n:
        raise ValueError(f"count {count} of n {n}: n has to be 1 or more, the count 0 to n")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; give a two-sided level above 0 and below 1")
    low = 0.0 if count == 0 else float(beta.ppf(alpha / 2, count, n - count + 1))
    high = 1.0 if count == n else float(beta.isf(alpha / 2, count + 1, n - count))
    return low, high


def rule_met(n: int, rate: float, allowed: int) -> float:
    """The exact probability of at most `allowed` events among `n` items, each with probability `rate`.

    1.0 where no count can break the rule (`allowed` of n or more), 0.0 where none can meet it (`allowed` below 0).
    Raises ValueError for a negative n and for a rate outside 0 to 1.
    """
    if n < 0:
        raise ValueError(f"n is {n}; give a number of items of 0 or more")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}; give a probability in 0 to 1")
    return float(binom.cdf(allowed, n, rate))
