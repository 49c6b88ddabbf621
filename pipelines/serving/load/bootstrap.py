"""Bootstrap intervals of requests that lie in repeats: repeats are drawn, and requests within each drawn one. Pure.

Two-stage resampling with replacement at both stages: A. C. Davison and D. V. Hinkley, Bootstrap Methods and their
Application, Cambridge University Press 1997, section 3.8 (hierarchical data), their second strategy. Of the two there
it gives the wider intervals, which suits few repeats: drawing a of a repeats alone shows (a - 1) / a of the variance
between them, and none for a single one. Bounds are the percentiles of the draws (percentile method, the same book,
section 5.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from registry.load_profile import Interval

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DRAWS = 1000
COVERAGE = 0.95
# Values times draws at once, so few that they stay in the processor's cache: many more take several times as long.
BLOCK = 50_000


@dataclass(frozen=True)
class Draws:
    """How often each draw holds each repeat (draws x repeats), and each request (draws x all requests, in order)."""

    repeats: Counts
    requests: Counts


def draw(sizes: Sequence[int], seed: int) -> Draws:
    """`DRAWS` two-stage draws from repeats of `sizes` requests, each 1 or more; the same for the same seed.

    How often a request is drawn is multinomial, which is the same as to draw one after the other.
    """
    generator = np.random.default_rng(seed)
    repeats = generator.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=DRAWS)
    requests = [
        generator.multinomial(repeats[:, index] * size, np.full(size, 1 / size)) for index, size in enumerate(sizes)
    ]
    return Draws(repeats, np.concatenate(requests, axis=1))


def rates(amounts: Floats, durations_s: Floats, draws: Draws) -> Floats:
    """The sum of the drawn requests' `amounts` over the drawn repeats' duration, per draw."""
    drawn: Floats = (draws.requests @ amounts) / (draws.repeats @ durations_s)
    return drawn


def rate(amounts: Floats, durations_s: Floats, draws: Draws) -> Interval:
    """The sum of all requests' `amounts` over all repeats' duration, per second."""
    return interval(float(amounts.sum() / durations_s.sum()), rates(amounts, durations_s, draws))


def tail(values: Floats, owners: Counts, draws: Draws, quantile: float) -> Interval:
    """A quantile of values (one or more) of which each belongs to the request `owners` says: it is drawn with it.

    The quantile is the least value that this share of all values does not exceed (the inverse of the distribution
    function, no interpolation). A draw without any of the requests is passed over.
    """
    order = np.argsort(values, kind="stable")
    ordered, owners = values[order], owners[order]
    block = max(1, BLOCK // len(values))
    drawn = [
        _quantiles(ordered, draws.requests[start : start + block, owners], quantile) for start in range(0, DRAWS, block)
    ]
    estimate = _quantiles(ordered, np.ones((1, len(values)), dtype=np.int64), quantile)
    return interval(float(estimate[0]), np.concatenate(drawn))


def interval(estimate: float, drawn: Floats) -> Interval:
    """The central 95 % of the draws, widened to the estimate where it lies outside."""
    lower, upper = np.quantile(drawn, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return Interval(estimate=estimate, lower=min(float(lower), estimate), upper=max(float(upper), estimate))


def _quantiles(ordered: Floats, weights: Counts, quantile: float) -> Floats:
    """The quantile of ascending values under each row of weights, rows without any weight left out."""
    cumulative = np.cumsum(weights, axis=1)
    cumulative = cumulative[cumulative[:, -1] > 0]
    ranks = np.ceil(quantile * cumulative[:, -1:])
    found: Floats = ordered[np.argmax(cumulative >= ranks, axis=1)]
    return found
