"""What one repeat of a cell left behind: every request's times, and the engine's counters over it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evalsets.records import Record
from registry.evidence import ExecutionClass, Hardware
from registry.load_profile import Cache, Flags


class Offered(Record):
    """How a cell's traffic is offered: at `rate` requests per second, or `concurrency` at any time; one is set."""

    rate: Annotated[float, Field(gt=0)] | None = None
    concurrency: Annotated[int, Field(ge=1)] | None = None
    cache: Cache = "cold"


class Sample(Record):
    """One request. Times in seconds: `start_s` from the cell's first one, `itl_s` between its tokens.

    A failed request has the `error`, and no times.
    """

    scene: str
    prompt_tokens: int
    output_tokens: int
    start_s: float
    ttft_s: float | None
    itl_s: list[float]
    error: str = ""


class Counters(Record):
    """What the engine counted, in tokens and events. Prompt tokens found in its prefix cache are `hits`."""

    prompt_tokens: int
    generation_tokens: int
    queries: int
    hits: int
    preemptions: int


class Use(Record):
    """Looked at every half second or so: share of the KV cache in use, requests that wait and that run, the device.

    `device_busy` is the mean share of the card's time (of all cores' without a card) in use, `device_memory` the most
    memory in use, in bytes, whoever used it.
    """

    kv_mean: float
    kv_peak: float
    waiting_peak: int
    running_peak: int
    device_busy: float = 0.0
    device_memory: int = 0


class Repeat(Record):
    """One pass of the traffic, `duration_s` from the first request to the last answer. Samples in the trace's order."""

    flags: Flags
    offered: Offered
    repeat: int
    duration_s: float
    samples: list[Sample]
    counters: Counters
    use: Use


class EngineUnderLoad(Record):
    """The engine of a set of flags: its execution class, its machine, and the tokens that its KV cache holds."""

    execution: ExecutionClass
    hardware: Hardware
    kv_tokens: int
