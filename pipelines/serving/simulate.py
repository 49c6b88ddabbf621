"""What prefix caches of a fleet find again: requests in the order of their arrival, block by block. Pure.

Lookup, allocation and eviction are those of the engine (`blocks`). Time is a model: a request takes its computed
prompt tokens at `prefill_tok_s` and its answer at `inter_token_s` each, whatever runs beside it, and has room for
its whole answer reserved from the start, where an engine would grow it and might preempt.
"""

from __future__ import annotations

import heapq
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from evalsets.records import InputError
from pipelines.serving.blocks import BlockPool, block_hashes


@dataclass(frozen=True)
class Job:
    """One request to a fleet: arrival in seconds, sizes in tokens, `names` of its full blocks, answer included."""

    at_s: float
    tenant: str
    scene: str
    session: str
    turn: int
    prompt_tokens: int
    output_tokens: int
    names: Sequence[int]

    def blocks(self, block_size: int) -> int:
        """The blocks it holds at its end. The last token of an answer is never computed."""
        return -(-(self.prompt_tokens + max(self.output_tokens, 1) - 1) // block_size)

    def reusable(self, block_size: int) -> Sequence[int]:
        """The names that it may find in a cache: its last prompt token is always computed."""
        return self.names[: (self.prompt_tokens - 1) // block_size]


@dataclass(frozen=True)
class Fleet:
    """Equal replicas: each has `blocks` of `block_size` tokens and runs at most `max_num_seqs` requests at once."""

    replicas: int
    blocks: int
    block_size: int
    max_num_seqs: int
    prefill_tok_s: float
    inter_token_s: float


@dataclass(frozen=True)
class Served:
    """What became of a job: the replica, its hit tokens, and when it started and ended."""

    job: Job
    replica: int
    hit_tokens: int
    start_s: float
    end_s: float


class Replica:
    """One engine: first come, first served, as its blocks and sequences allow."""

    def __init__(self, number: int, fleet: Fleet) -> None:
        self.number = number
        self._fleet = fleet
        self._pool = BlockPool(fleet.blocks)
        self._running: list[tuple[float, int, list[int]]] = []
        self._waiting: deque[Job] = deque()
        self.served: list[Served] = []

    @property
    def load(self) -> int:
        """Requests that run or wait."""
        return len(self._running) + len(self._waiting)

    def cached_blocks(self, job: Job) -> int:
        """How many blocks of the prompt a job would find here now."""
        return len(self._pool.cached_run(job.reusable(self._fleet.block_size)))

    def submit(self, job: Job) -> None:
        """Take a job that arrives now; `advance` to its arrival first. Raises `InputError` for one that never fits."""
        if job.blocks(self._fleet.block_size) > self._fleet.blocks:
            raise InputError(
                f"session {job.session} turn {job.turn}: needs {job.blocks(self._fleet.block_size)} blocks, a replica "
                f"has {self._fleet.blocks}; give the simulated replicas more"
            )
        self._waiting.append(job)
        self._start(job.at_s)

    def advance(self, until_s: float) -> None:
        """End what ends by `until_s`, and start what waited for it."""
        while self._running and self._running[0][0] <= until_s:
            ended_s, _, held = heapq.heappop(self._running)
            self._pool.release(held)
            self._start(ended_s)

    def _start(self, now_s: float) -> None:
        size = self._fleet.block_size
        while self._waiting and len(self._running) < self._fleet.max_num_seqs:
            job = self._waiting[0]
            hits = self._pool.cached_run(job.reusable(size))
            if not self._pool.room_for(hits, job.blocks(size)):
                return
            self._waiting.popleft()
            held = self._pool.take(hits, job.names, job.blocks(size))
            computed = job.prompt_tokens - len(hits) * size
            took_s = computed / self._fleet.prefill_tok_s + job.output_tokens * self._fleet.inter_token_s
            heapq.heappush(self._running, (now_s + took_s, len(self.served), held))
            self.served.append(Served(job, self.number, len(hits) * size, now_s, now_s + took_s))


class Router(Protocol):
    """Decides which replica gets a job."""

    def route(self, job: Job, replicas: Sequence[Replica]) -> int:
        """The number of the replica, all of them advanced to the job's arrival."""
        ...

    def join(self, number: int) -> None:
        """A replica more from now on."""
        ...


def simulate(jobs: Sequence[Job], fleet: Fleet, router: Router, joins_s: Sequence[float] = ()) -> list[Served]:
    """Every job with what a fleet's caches gave it, by arrival. A replica joins with a cold cache at each `joins_s`."""
    replicas = [Replica(number, fleet) for number in range(fleet.replicas)]
    pending = deque(sorted(joins_s))
    for job in sorted(jobs, key=lambda job: job.at_s):
        while pending and pending[0] <= job.at_s:
            pending.popleft()
            router.join(len(replicas))
            replicas.append(Replica(len(replicas), fleet))
        for replica in replicas:
            replica.advance(job.at_s)
        replicas[router.route(job, replicas)].submit(job)
    for replica in replicas:
        replica.advance(float("inf"))
    return sorted((served for replica in replicas for served in replica.served), key=lambda served: served.job.at_s)


def predict_hits(
    prompts: Sequence[Sequence[int]],
    block_size: int,
    capacity_blocks: int,
    answers: Mapping[int, Sequence[int]] | None = None,
) -> list[int]:
    """The hit tokens of each prompt, sent one after the other to a cold engine, each when the last one has ended.

    `capacity_blocks` as `BlockPool` counts them; `answers`: token ids by the prompt's position, one token where
    missing. The sum is what `vllm:prefix_cache_hits_total` grows by, that of the lengths `..._queries_total`.
    """
    pool = BlockPool(capacity_blocks)
    found = []
    for position, prompt in enumerate(prompts):
        computed = [*prompt, *(answers or {}).get(position, ())[:-1]]
        names = block_hashes(array("I", computed), block_size)
        hits = pool.cached_run(names[: (len(prompt) - 1) // block_size])
        pool.release(pool.take(hits, names, -(-len(computed) // block_size)))
        found.append(len(hits) * block_size)
    return found
