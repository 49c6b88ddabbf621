"""What a simulation says, in rates: hits by tokens, requests, turns and tenants, and how evenly the work lay. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pipelines.serving.simulate import Served

LAST_TURN = 4  # that turn and all later ones count as one
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Summary:
    """Rates in 0 to 1. A request hit finds at least half of its prompt. `hot_spot`: busiest replica over the average.

    `computed_tok_s`: prompt tokens that had to be computed, per second from the first arrival to the last.
    """

    requests: int
    token_hit_rate: float
    request_hit_rate: float
    by_turn: dict[int, float]
    by_tenant: dict[str, float]
    computed_tok_s: float
    hot_spot: float
    waited_p95_s: float


def summarise(served: Sequence[Served], replicas: int) -> Summary:
    """The summary of a simulation with at least one request; tenants in order of their requests, most first."""
    jobs = [one.job for one in served]
    duration_s = max(max(job.at_s for job in jobs) - min(job.at_s for job in jobs), 1.0)
    busy_s = [0.0] * replicas
    for one in served:
        busy_s[one.replica] += one.end_s - one.start_s
    waits = sorted(one.start_s - one.job.at_s for one in served)
    tenants = _grouped(served, lambda one: one.job.tenant)
    turns = _grouped(served, lambda one: min(one.job.turn, LAST_TURN))
    return Summary(
        requests=len(served),
        token_hit_rate=token_hit_rate(served),
        request_hit_rate=sum(2 * one.hit_tokens >= one.job.prompt_tokens for one in served) / len(served),
        by_turn={turn: token_hit_rate(turns[turn]) for turn in sorted(turns)},
        by_tenant={name: token_hit_rate(tenants[name]) for name in sorted(tenants, key=lambda n: -len(tenants[n]))},
        computed_tok_s=computed_tokens(served) / duration_s,
        hot_spot=max(busy_s) * replicas / sum(busy_s),
        waited_p95_s=waits[int(0.95 * (len(waits) - 1))],
    )


def token_hit_rate(served: Sequence[Served]) -> float:
    """Hit tokens over prompt tokens, as the engine's two counters give it."""
    return sum(one.hit_tokens for one in served) / sum(one.job.prompt_tokens for one in served)


def computed_tokens(served: Sequence[Served]) -> int:
    """Prompt tokens that no cache held."""
    return sum(one.job.prompt_tokens - one.hit_tokens for one in served)


def by_window(served: Sequence[Served], window_s: float, from_s: float = 0.0) -> dict[int, list[Served]]:
    """What arrived in each whole window from `from_s` on, by the window's number; empty windows are left out."""
    last_s = max(one.job.at_s for one in served)
    windows = int((last_s - from_s) // window_s)
    after = [one for one in served if from_s <= one.job.at_s < from_s + windows * window_s]
    return _grouped(after, lambda one: int((one.job.at_s - from_s) // window_s))


def _grouped(served: Sequence[Served], key: Callable[[Served], K]) -> dict[K, list[Served]]:
    found: defaultdict[K, list[Served]] = defaultdict(list)
    for one in served:
        found[key(one)].append(one)
    return dict(found)
