"""How a gateway spreads requests over replicas: four policies, chosen by name."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Literal

from uhashring import HashRing

from pipelines.serving.simulate import Job, Replica, Router

Policy = Literal["random", "tenant-scene", "scene-bounded", "cache-aware"]
POLICIES: tuple[Policy, ...] = ("random", "tenant-scene", "scene-bounded", "cache-aware")
# A replica takes at most this many times the average load (requests in flight), the new one counted.
BOUND = 1.25


def make_router(policy: Policy, replicas: int, seed: int = 0) -> Router:
    """The router of that name over replicas 0 to `replicas` - 1. The same seed routes alike."""
    makers: dict[Policy, Callable[[], Router]] = {
        "random": lambda: RandomRouter(seed),
        "tenant-scene": lambda: HashRouter(replicas, lambda job: f"{job.tenant}#{job.scene}"),
        "scene-bounded": lambda: BoundedHashRouter(replicas, lambda job: job.scene),
        "cache-aware": CacheAwareRouter,
    }
    return makers[policy]()


class RandomRouter:
    """Any replica, all alike."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def route(self, job: Job, replicas: Sequence[Replica]) -> int:
        """A replica drawn at random."""
        return self._random.randrange(len(replicas))

    def join(self, number: int) -> None:
        """Nothing to learn."""


class HashRouter:
    """The replica that a consistent hash of `key` names. One more takes about its share of the keys over."""

    def __init__(self, replicas: int, key: Callable[[Job], str]) -> None:
        self._ring = HashRing(nodes=[str(number) for number in range(replicas)])
        self._key = key

    def route(self, job: Job, replicas: Sequence[Replica]) -> int:
        """The key's replica, however busy."""
        return int(self._ring.get_node(self._key(job)))

    def join(self, number: int) -> None:
        """Put the replica on the ring."""
        self._ring.add_node(str(number))


class BoundedHashRouter(HashRouter):
    """Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam, 2018): a full replica passes on."""

    def route(self, job: Job, replicas: Sequence[Replica]) -> int:
        """The first replica on the ring, from the key on, that has room under the bound."""
        allowed = set(_within_bound(replicas))
        return next(number for node in self._ring.iterate_nodes(self._key(job)) if (number := int(node)) in allowed)


class CacheAwareRouter:
    """The replica that has most of the prompt cached, of those under the bound; ties go to the least loaded.

    It knows every cache exactly, as a router does that follows the engines' KV events.
    """

    def route(self, job: Job, replicas: Sequence[Replica]) -> int:
        """The best replica for this prompt now."""
        allowed = _within_bound(replicas)
        return min(allowed, key=lambda number: (-replicas[number].cached_blocks(job), replicas[number].load, number))

    def join(self, number: int) -> None:
        """Nothing to learn: an empty cache shows itself."""


def _within_bound(replicas: Sequence[Replica]) -> list[int]:
    limit = math.ceil(BOUND * (sum(replica.load for replica in replicas) + 1) / len(replicas))
    return [replica.number for replica in replicas if replica.load < limit]
