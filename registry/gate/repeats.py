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
    gains = (S2 - S1) / 2 is the table whose drop is the mean of d and whose discordance is the mean of d^2, so that the
    score test sees the first two moments of d. It sees no skew, so neither side may count less than its own share of
    S2: losses that stay in every run are not thinned out by gains that come and go. Where a side would, both grow by
    the same, which keeps the drop; so they do where S2 < |S1|, where no table has these moments.

    Raises ValueError for a difference that is no number in -1 to 1.
    """
    for index, difference in enumerate(differences):
        if not -1 <= difference <= 1:  # false for NaN as well
            raise ValueError(f"item {index}: difference {difference}; a mean loss less a mean gain is in -1 to 1")
    first = math.fsum(differences)
    lost = math.fsum(difference**2 for difference in differences if difference > 0)
    gained = math.fsum(difference**2 for difference in differences if difference < 0)
    losses, gains = counts_from_sums(np.array(first), np.array(lost), np.array(gained))
    return float(losses), float(gains)


def counts_from_sums(first: Array, lost: Array, gained: Array) -> tuple[Array, Array]:
    """The same for arrays of one shape: sums of d, of d^2 where it is a loss, and of d^2 where it is a gain."""
    at_least = (lost + gained, np.abs(first), 2 * lost - first, 2 * gained + first)
    discordant = np.maximum.reduce(at_least)
    return (discordant + first) / 2, (discordant - first) / 2
