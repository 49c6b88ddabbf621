"""What happens to a fleet besides its daily work: a prompt release, a tenant with a quota. Pure.

A replica that joins cold is `simulate`'s own `joins_s`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from evalsets.items import Message
from pipelines.serving.request_log import LoggedRequest

ALL_AT_ONCE = (1.0,)
FROM_5_PERCENT = (0.05, 0.25, 0.5, 1.0)
VERSION = "[v2]"


@dataclass(frozen=True)
class Release:
    """A new system text for every scene, `at_s` after the first request: `shares` of the sessions, a step each."""

    at_s: float
    shares: tuple[float, ...] = ALL_AT_ONCE
    step_s: float = 300.0


@dataclass(frozen=True)
class Quota:
    """A tenant's limit: `rate` requests per second on average, `burst` at once (a token bucket)."""

    tenant: str
    rate: float
    burst: float = 10.0


def released(requests: Sequence[LoggedRequest], release: Release) -> list[LoggedRequest]:
    """The requests with the new text for the sessions that the release has reached, also those under way."""
    first = min(request.time for request in requests)
    found = []
    for request in requests:
        steps = (request.time - first - timedelta(seconds=release.at_s)).total_seconds() / release.step_s
        share = release.shares[min(int(steps), len(release.shares) - 1)] if steps >= 0 else 0.0
        found.append(_versioned(request) if _place(request.session) < share else request)
    return found


def within_quota(requests: Sequence[LoggedRequest], quota: Quota) -> tuple[list[LoggedRequest], int]:
    """The requests that are let in, by time, and how many of the tenant's are refused."""
    kept = []
    left, last = quota.burst, None
    for request in sorted(requests, key=lambda request: request.time):
        if request.tenant == quota.tenant:
            waited_s = (request.time - last).total_seconds() if last else 0.0
            left, last = min(quota.burst, left + quota.rate * waited_s), request.time
            if left < 1:
                continue
            left -= 1
        kept.append(request)
    return kept, len(requests) - len(kept)


def _versioned(request: LoggedRequest) -> LoggedRequest:
    first, *rest = request.messages
    if first.role != "system":
        return request.model_copy(update={"messages": [Message(role="system", content=VERSION), *request.messages]})
    text = f"{VERSION}\n{first.content or ''}"
    return request.model_copy(update={"messages": [first.model_copy(update={"content": text}), *rest]})


def _place(session: str) -> float:
    """A session's place in 0 to 1, the same at every step of a release."""
    return int.from_bytes(hashlib.blake2b(session.encode(), digest_size=4).digest(), "big") / 2**32
