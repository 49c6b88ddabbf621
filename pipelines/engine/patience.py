"""Which faults of an endpoint may pass, and how long one request goes on for their sake: never for content."""

from __future__ import annotations

from tenacity import RetryCallState

from evalsets.responses import Retry
from pipelines.engine.pace import MAX_WAIT_S

ATTEMPTS = 4


class Passing(Exception):
    """A fault of transport or server (5xx) that may pass."""


class Full(Passing):
    """The endpoint is there and puts the request off (429, or 503 with Retry-After), for `wait_s` if it says so."""

    def __init__(self, fault: str, wait_s: float | None) -> None:
        super().__init__(fault)
        self.wait_s = wait_s


class Patience:
    """How long one request goes on: `ATTEMPTS` faults, or `put_off_s` seconds of being put off.

    Its methods are what tenacity asks, in this order. `retries` is what went wrong until now.
    """

    def __init__(self, first_wait_s: float, put_off_s: float) -> None:
        self._first_wait_s = first_wait_s
        self._most_s = put_off_s
        self._faults = self._times_full = 0
        self._put_off_s = 0.0
        self.retries: list[Retry] = []

    @property
    def attempts(self) -> int:
        """How often it was sent."""
        return self._faults + self._times_full

    def wait_s(self, state: RetryCallState) -> float:
        """Seconds before the next attempt; the fault is counted."""
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, Full):
            self._faults += 1
            return self._first_wait_s * 2.0 ** (self._faults - 1)
        self._times_full += 1
        doubled = min(self._first_wait_s * 2.0 ** min(self._times_full - 1, 20), MAX_WAIT_S)
        wait_s = doubled if error.wait_s is None else error.wait_s
        # An endpoint that asks for no time at all must not be asked without end.
        self._put_off_s += max(wait_s, self._first_wait_s)
        return wait_s

    def is_over(self, state: RetryCallState) -> bool:
        """Whether there is no next attempt."""
        return self._faults >= ATTEMPTS or self._put_off_s > self._most_s

    def note(self, state: RetryCallState) -> None:
        """Record an attempt that failed and is made again."""
        error = state.outcome.exception() if state.outcome else None
        self.retries.append(Retry(error=str(error)[:300], waited_s=round(state.upcoming_sleep, 3)))
