"""Exact tests of two counts that chance would share equally: alarms beside the gates, never gates themselves."""

from __future__ import annotations

from scipy.stats import binom


def mid_p(losses: float, gains: float) -> float:
    """McNemar's two-sided mid-p value for `losses` against `gains`, in 0 to 1; 1.0 where there are neither.

    Counts that are not whole (repeated or clustered items) are rounded: this is an alarm.

    Source: Fagerland, Lydersen, Laake, BMC Medical Research Methodology 13 (2013), 91. A large value does not show
    that the candidate is as good: at these sample sizes it misses most true losses.
    """
    fewer, more = sorted((round(losses), round(gains)))
    discordant = fewer + more
    if discordant == 0:
        return 1.0
    tail = binom.cdf(fewer, discordant, 0.5) - 0.5 * binom.pmf(fewer, discordant, 0.5)
    return float(min(1.0, 2.0 * tail))


def more_p(count: float, reference: float) -> float:
    """Exact one-sided p value of `count` or more, were it drawn at the same rate as `reference` (1.0 for 0 and 0).

    Counts that are not whole are rounded.
    """
    return float(binom.sf(round(count) - 1, round(count) + round(reference), 0.5))
