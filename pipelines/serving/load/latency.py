"""The tail latencies of a cell's requests by group, and which requests kept the budget's times. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from evalsets.records import InputError
from pipelines.serving.load.bootstrap import Draws, Floats, tail
from pipelines.serving.load.results import Sample
from registry.load_profile import Budget, Interval, Latency

ENOUGH_FOR_P99 = 300
RESERVED = ("all", "short", "long")


def tail_quantile(samples: int) -> float:
    """The quantile that so many requests allow: 0.99 from 300 on, else 0.95."""
    return 0.99 if samples >= ENOUGH_FOR_P99 else 0.95


def finished(samples: Sequence[Sample]) -> int:
    """How many requests were answered."""
    return sum(sample.ttft_s is not None for sample in samples)


def keeps_times(sample: Sample, budget: Budget, quantile: float) -> bool:
    """Whether a request was answered, its first token within `ttft_ms`, and its own tail between tokens in `itl_ms`.

    The own tail is `quantile` of the times between this request's tokens: the least of them that this share does not
    exceed. An answer of one token has none and keeps it.
    """
    if sample.ttft_s is None or 1000 * sample.ttft_s > budget.ttft_ms:
        return False
    if not sample.itl_s:
        return True
    return bool(1000 * np.quantile(sample.itl_s, quantile, method="inverted_cdf") <= budget.itl_ms)


def latencies(samples: Sequence[Sample], draws: Draws, long_tokens: int) -> dict[str, Latency]:
    """By group: `all`, `short`, `long` (prompts of `long_tokens` or more), then scenes by name.

    `samples` of all repeats in the order of `draws`. A group without an answered request is left out. Raises
    `InputError` for a scene with the name of another group.
    """
    scenes = sorted({sample.scene for sample in samples})
    if taken := [scene for scene in scenes if scene in RESERVED]:
        raise InputError(f"scene {taken[0]}: this name stands for other requests in a load profile; rename the scene")
    groups: dict[str, Callable[[Sample], bool]] = {
        "all": lambda sample: True,
        "short": lambda sample: sample.prompt_tokens < long_tokens,
        "long": lambda sample: sample.prompt_tokens >= long_tokens,
    }
    members = {name: [index for index, one in enumerate(samples) if belongs(one)] for name, belongs in groups.items()}
    members |= {scene: [index for index, one in enumerate(samples) if one.scene == scene] for scene in scenes}
    found = {name: _latency(samples, indices, draws) for name, indices in members.items()}
    return {name: one for name, one in found.items() if one is not None}


def _latency(samples: Sequence[Sample], members: Sequence[int], draws: Draws) -> Latency | None:
    ttft: list[float] = []
    e2e: list[float] = []
    itl: list[float] = []
    owners: list[int] = []
    itl_owners: list[int] = []
    for index in members:
        sample = samples[index]
        if sample.ttft_s is not None:
            owners.append(index)
            ttft.append(sample.ttft_s)
            e2e.append(sample.ttft_s + sum(sample.itl_s))
            itl += sample.itl_s
            itl_owners += [index] * len(sample.itl_s)
    if not owners:
        return None
    quantile = tail_quantile(len(owners))

    def of(seconds: Sequence[float], whose: Sequence[int]) -> Interval:
        if not seconds:  # every answer has one token: there is no time between tokens
            return Interval(estimate=0, lower=0, upper=0)
        values: Floats = 1000 * np.array(seconds)
        return tail(values, np.array(whose), draws, quantile)

    return Latency(
        quantile=quantile,
        samples=len(owners),
        ttft_ms=of(ttft, owners),
        itl_ms=of(itl, itl_owners),
        e2e_ms=of(e2e, owners),
    )
