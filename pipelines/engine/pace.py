"""When the next request may go out: a limit of one's own, and what the endpoint asks for when it is full."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_WAIT_S = 60.0


class Pace:
    """Turns to send, at most `rate` a second (None: no limit), and none while the endpoint has asked to wait."""

    def __init__(self, rate: float | None) -> None:
        self._gap_s = 1 / rate if rate else 0.0
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next turn and take it."""
        while (wait_s := self._next - time.monotonic()) > 0:
            await asyncio.sleep(wait_s)
        # No other turn is taken in between: nothing is awaited from here on.
        self._next = time.monotonic() + self._gap_s

    def hold(self, wait_s: float) -> None:
        """Give no turn for `wait_s` seconds."""
        self._next = max(self._next, time.monotonic() + wait_s)


def asked_to_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds that a reply's Retry-After asks for, between 0 and `MAX_WAIT_S`; None where it has none or a bad one.

    It holds seconds or an HTTP date (RFC 9110, section 10.2.3).
    """
    given = headers.get("Retry-After", "").strip()
    if not given:
        return None
    try:
        wait_s = float(given)
    except ValueError:
        try:
            date = parsedate_to_datetime(given)
        except ValueError:
            return None
        until = date if date.tzinfo else date.replace(tzinfo=UTC)
        wait_s = (until - (now or datetime.now(UTC))).total_seconds()
    return None if math.isnan(wait_s) else min(max(wait_s, 0.0), MAX_WAIT_S)
