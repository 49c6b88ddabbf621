"""From which concurrency on more requests at a time bring no more of them through. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from evalsets.records import InputError
from registry.load_profile import Cell, Saturation

SHARE = 0.95


def saturation(cells: Sequence[Cell]) -> Saturation:
    """The least concurrency whose requests per second reach 95 % of the most, by the estimates; cells by concurrency.

    Where it is the highest one tried, the engine may have more to give: try higher ones. Raises `InputError` where
    there is no closed-loop cell, where another one is among them, or where none answered a request.
    """
    tried = [(one.concurrency, one) for one in cells if one.concurrency is not None]
    if not tried or len(tried) < len(cells):
        raise InputError(
            f"saturation: {len(tried)} of {len(cells)} cells are closed loops; give one or more, and no other"
        )
    best = max(one.requests_s.estimate for _, one in tried)
    if best <= 0:
        raise InputError("saturation: no cell answered a request; read the errors of its samples and the engine's log")
    least = min(concurrency for concurrency, one in tried if one.requests_s.estimate >= SHARE * best)
    return Saturation(concurrency=least, cells=[one for _, one in sorted(tried, key=lambda pair: pair[0])])
