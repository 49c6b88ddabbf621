"""Items that are not independent: by how much clusters inflate the variance, and a paired table deflated by it.

Items written from one template, or asked of one document, tend to be lost together. A suite of n such items tells as
much as n / DEFF independent ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

NO_SPREAD = 1e-12


def design_effect(differences: Mapping[str, Sequence[float]]) -> float:
    """DEFF, 1 or more: the variance of the summed paired difference over what it were with independent items.

    `differences` maps a cluster to the differences of its items (loss 1, gain -1, else 0, or means over runs). A
    cluster without items is none. With d the items' mean, T and k a cluster's sum and size, C clusters and n items:

        DEFF = C / (C - 1) * sum of (T - k d)^2 over clusters / (n / (n - 1) * sum of (difference - d)^2 over items)

    The numerator is the linearised (Taylor) variance of a mean over clusters of unequal size. Sources: L. Kish,
    "Survey Sampling" (1965), for the design effect; J. N. K. Rao and A. J. Scott, "A simple method for the analysis of
    clustered binary data", Biometrics 48 (1992), 577-585, for its estimate and for dividing counts by it.

    1.0 where the ratio is below that (items of a cluster that differ more than others: no licence to claim more items
    than there are) and where it is undefined: fewer than two clusters, or items that all differ alike. An estimate
    from few clusters is unsteady and, from the run it is applied to, lets too much pass: take it from earlier runs.
    Raises ValueError for a difference that is not finite.
    """
    clusters = [cluster for cluster in differences.values() if cluster]
    values = [difference for cluster in clusters for difference in cluster]
    if not all(map(math.isfinite, values)):
        raise ValueError(f"differences {values}: give finite numbers")
    if len(clusters) < 2 or max(values) - min(values) < NO_SPREAD:
        return 1.0
    mean = math.fsum(values) / len(values)
    between = math.fsum((math.fsum(cluster) - len(cluster) * mean) ** 2 for cluster in clusters)
    within = math.fsum((difference - mean) ** 2 for difference in values)
    clustered = between * len(clusters) / (len(clusters) - 1)
    independent = within * len(values) / (len(values) - 1)
    return max(1.0, clustered / independent)


def deflated(losses: float, gains: float, n: float, deff: float) -> tuple[float, float, float]:
    """Losses, gains and n divided by the design effect. Raises ValueError unless it is finite and 1 or more."""
    if not 1 <= deff < math.inf:
        raise ValueError(f"design effect {deff}: give a finite number of 1 or more")
    return losses / deff, gains / deff, n / deff
