"""Noticing an engine that neither answers nor computes, though its health page may say that all is well."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NoReturn

from prometheus_client.parser import text_string_to_metric_families

TOKENS = "_tokens_total"  # prompt and generation tokens, whatever the engine's prefix


class EngineGone(Exception):
    """The engine ended, does not answer that it is healthy, or stands still. The message goes on "the engine …"."""


class Progress:
    """When the engine last did something."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def note(self) -> None:
        """It just did."""
        self._last = time.monotonic()

    def idle_s(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self._last


async def watch(progress: Progress, limit_s: float, tokens: Callable[[], Awaitable[float | None]]) -> NoReturn:
    """Raise `EngineGone` once nothing was answered and no token was counted for `limit_s` seconds.

    `tokens` reads the engine's counters; None where they cannot be read, and then answers alone count.
    """
    seen = await tokens()
    while True:
        await asyncio.sleep(limit_s / 4)
        counted = await tokens()
        if counted is not None and counted != seen:
            seen = counted
            progress.note()
        if progress.idle_s() > limit_s:
            raise EngineGone(f"hung, with no answer and no token for {limit_s:g} s,")


def counted_tokens(metrics: str) -> float | None:
    """The sum of every counter of tokens on a Prometheus page; None where there is none, or no such page."""
    try:
        samples = [sample for family in text_string_to_metric_families(metrics) for sample in family.samples]
    except ValueError:
        return None
    found = [sample.value for sample in samples if sample.name.endswith(TOKENS)]
    return sum(found) if found else None
