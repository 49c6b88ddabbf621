"""How far a paired table is from another verdict, in losses: whole counts by enumeration, others by bisection. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from registry.evidence import PairedTable
from registry.gate.power import critical_losses, losses_that_fail
from registry.gate.tango import exceeds

STEP = 0.01  # losses of repeated or clustered items are said to this precision


def most_that_pass(table: PairedTable, margin: float, alpha: float) -> int | float | None:
    """The most losses that still PASS with the table's n and gains, rounded down; None where not even none does."""
    if _whole(table):
        found = int(critical_losses(int(table.n), margin, alpha, np.array([int(table.gains)]))[0])
        return found if found >= 0 else None
    most = _last(lambda losses: exceeds(losses, table.gains, table.n, -margin, alpha), table.n - table.gains)
    return None if most is None else STEP * math.floor(most / STEP)


def fewest_that_fail(table: PairedTable, margin: float, alpha: float) -> int | float | None:
    """The fewest losses that FAIL with the table's n and gains, rounded up; None where no number of them would."""
    if _whole(table):
        return losses_that_fail(int(table.n), margin, alpha, int(table.gains))
    room = table.n - table.gains
    held = _last(lambda losses: not exceeds(table.gains, losses, table.n, margin, alpha), room)
    fewest = 0.0 if held is None else STEP * math.ceil(held / STEP)
    return fewest if fewest <= room else None


def _whole(table: PairedTable) -> bool:
    return all(count == int(count) for count in (table.n, table.losses, table.gains))


def _last(holds: Callable[[float], bool], most: float) -> float | None:
    """The largest count in 0 to `most` for which `holds`, true counts coming first; None where 0 does not."""
    if not holds(0.0):
        return None
    if holds(most):
        return most + STEP
    low, high = 0.0, most
    while high - low > STEP / 100:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
