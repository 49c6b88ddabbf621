"""Exact tests of two counts that chance would share equally: alarms beside the gates, never gates themselves."""

from __future__ import annotations

from scipy.stats import binom


def mid_p(losses: int, gains: int) -> float:
    """McNemar's two-sided mid-p value for `losses` against `gains`, in 0 to 1; 1.0 where there are neither.

    Source: Fagerland, Lydersen, Laake, BMC Medical Research Methodology 13 (2013), 91. A large value does not show
    that the candidate is as good: at these sample sizes it misses most true losses.
    """
    discordant = losses + gains
    if discordant == 0:
        return 1.0
    fewer = min(losses, gains)
    tail = binom.cdf(fewer, discordant, 0.5) - 0.5 * binom.pmf(fewer, discordant, 0.5)
    return float(min(1.0, 2.0 * tail))


def more_p(count: int, reference: int) -> float:
    """Exact one-sided p value of `count` or more, were it drawn at the same rate as `reference` (1.0 for 0 and 0)."""
    return float(binom.sf(count - 1, count + reference, 0.5))
