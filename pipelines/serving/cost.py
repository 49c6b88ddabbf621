"""Money per million tokens, and the weight memory of a fleet that serves each scene by its own variant. Pure.

What is put in keeps its basis: a cost from a measured throughput is never in one column with one from an assumed one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from evalsets.records import InputError

Basis = Literal["measured", "simulated", "calculated", "assumed"]
BASES: tuple[Basis, ...] = get_args(Basis)


@dataclass(frozen=True)
class Throughput:
    """Tokens a second per card, where the number comes from, and on which hardware it holds."""

    tokens_per_s: float
    basis: Basis
    hardware: str

    def __post_init__(self) -> None:
        if not (math.isfinite(self.tokens_per_s) and self.tokens_per_s > 0):
            raise InputError(f"throughput is {self.tokens_per_s} tok/s; give a finite number above 0")


def unit_cost(price_per_hour: float, tokens_per_s: float, load: float = 1.0) -> float:
    """Price of a million tokens, in the currency of `price_per_hour` (one card for an hour).

    `tokens_per_s` is per card when it is busy, `load` the share of that (0 to 1) which the traffic asks for on average:
    an idle hour is paid too.
    """
    if not (math.isfinite(price_per_hour) and price_per_hour >= 0):
        raise InputError(f"price is {price_per_hour} per hour; give a finite number, 0 or more")
    if not 0 < load <= 1:
        raise InputError(f"load is {load}; give a share above 0 and at most 1")
    return price_per_hour / (tokens_per_s * load * 3600) * 1e6


def unit_cost_change(before_tokens_per_s: float, after_tokens_per_s: float) -> float:
    """Relative change of the unit cost at an equal price and load, as a fraction: -0.5 is half the cost."""
    return before_tokens_per_s / after_tokens_per_s - 1


def fleet_mean(shares: Mapping[str, float], values: Mapping[str, float]) -> float:
    """Mean of a value per variant (bytes, cost), weighted by traffic. Shares are divided by their sum."""
    lost = sorted(shares.keys() - values.keys())
    if lost:
        raise InputError(f"no value for {', '.join(lost)}, which serve traffic; give one for each")
    total = sum(shares.values())
    if not total > 0 or min(shares.values()) < 0:
        raise InputError(f"traffic shares are {dict(shares)}; give numbers of 0 or more, not all 0")
    return sum(share * values[variant] for variant, share in shares.items()) / total


def weight_memory_saving(shares: Mapping[str, float], weight_bytes: Mapping[str, int], baseline: str) -> float:
    """Share of weight memory saved (0 to 1) against a fleet of the baseline alone, if replicas follow the traffic.

    Cards do not become free by it: an engine fills the same share of each with KV blocks instead.
    """
    return 1 - fleet_mean(shares, weight_bytes) / weight_bytes[baseline]


def traffic_by_variant(traffic: Mapping[str, float], serves: Mapping[str, str]) -> dict[str, float]:
    """Traffic share per variant, from the share of each scene and the variant that serves it."""
    found: dict[str, float] = {}
    for scene, share in traffic.items():
        found[serves[scene]] = found.get(serves[scene], 0.0) + share
    return found
