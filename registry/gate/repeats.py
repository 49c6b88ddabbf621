"""Several runs per item, folded into the losses and gains that the paired test takes.

Where a server is not deterministic, k runs of every item shrink the part of the variance that comes from the runs.
The items stay the unit: k runs of n items are n observations, never k * n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def counts(differences: Sequence[float]) -> tuple[float, float]:
    """Losses and gains, fractional in general, that stand for the items' mean differences over their runs.

    `differences` has one d per item, its mean loss less its mean gain over the runs, in -1 to 1. Both counts are 0 or
    more and sum to the number of items at most. For one run they are the counted losses and gains, exactly.

    A construction of this project. With S1 the sum of d and S2 the sum of d^2, losses = (S2 + S1) / 2 and
    gains = (S2 - S1) / 2: the table whose drop is the mean of d and whose discordance is the mean of d^2, so that the
    score test sees the first two moments of d. Where S2 < |S1| no table has these moments; then all of the difference
    is one-sided, max(S1, 0) losses and max(-S1, 0) gains, which has the same drop and more variance than was seen.

    Raises ValueError for a difference that is no number in -1 to 1.
    """
    for index, difference in enumerate(differences):
        if not -1 <= difference <= 1:  # false for NaN as well
            raise ValueError(f"item {index}: difference {difference}; a mean loss less a mean gain is in -1 to 1")
    first = math.fsum(differences)
    second = math.fsum(difference * difference for difference in differences)
    losses, gains = counts_from_sums(np.array(first), np.array(second))
    return float(losses), float(gains)


def counts_from_sums(first: Array, second: Array) -> tuple[Array, Array]:
    """The same from S1 and S2, for arrays of one shape."""
    discordant = np.maximum(second, np.abs(first))
    return (discordant + first) / 2, (discordant - first) / 2
