"""What a load test says of one variant: the record `serving/<variant>.json` of a run, and its parts.

Every number is measured on the hardware that the record names, unless its name says otherwise. An interval is a
bootstrap's, 95 %, two-sided, over the repeats of a cell.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from evalsets.records import Record
from registry.evidence import ExecutionClass, Hardware, Sha256

Share = Annotated[float, Field(ge=0, le=1)]
Cache = Literal["cold", "warm"]


class Interval(Record):
    """An estimate with its bounds, in the estimate's unit."""

    estimate: float
    lower: float
    upper: float


class Budget(Record):
    """What a cell has to keep. Times in milliseconds at the tail that the samples allow, `errors` as a share."""

    ttft_ms: Annotated[float, Field(gt=0)]
    itl_ms: Annotated[float, Field(gt=0)]
    errors: Share = 0.0
    preemptions: Annotated[int, Field(ge=0)] = 0


class Flags(Record):
    """The engine's batching flags. A `long_prefill_token_threshold` of 0 leaves long prompts unbounded."""

    max_num_batched_tokens: Annotated[int, Field(ge=1)]
    max_num_seqs: Annotated[int, Field(ge=1)]
    long_prefill_token_threshold: Annotated[int, Field(ge=0)] = 0


class Latency(Record):
    """The tail of a group of requests, in milliseconds: time to first token, between tokens, and to the last one.

    `quantile` is 0.99 where the group has 300 samples or more, else 0.95. `samples` counts requests; the times between
    tokens are pooled over them.
    """

    quantile: Share
    samples: int
    ttft_ms: Interval
    itl_ms: Interval
    e2e_ms: Interval


class Cell(Record):
    """The same traffic offered `repeats` times, all repeats together.

    Open loop: `rate` requests per second by a Poisson process. Closed loop: `concurrency` requests at any time. `cache`
    is cold where the prefix cache was emptied before each repeat, warm where the same requests came just before.
    Throughputs per second: requests done, and tokens of answers, of prompts, and of prompts less those found in the
    prefix cache (computed). `hit_rate` is of prompt tokens. `kv_use` is a share of the KV cache, `device_busy` of the
    card's time (of all cores' without a card), `device_memory` bytes in use at most. `latency` is per group:
    `all`, `short` and `long` by the prompt, and one per scene. `goodput` counts requests per second that kept both
    times of the budget; `kept` says whether the cell kept all of it, and `broke` what not.
    """

    rate: float | None = None
    concurrency: int | None = None
    cache: Cache
    repeats: int
    requests: int
    failed: int
    requests_s: Interval
    output_tok_s: Interval
    prompt_tok_s: Interval
    computed_tok_s: Interval
    hit_rate: Share
    preemptions: int
    kv_use_mean: Share
    kv_use_peak: Share
    waiting_peak: int
    device_busy: Share = 0.0
    device_memory: int = 0
    latency: dict[str, Latency]
    goodput: Interval
    kept: bool
    broke: list[str]


class Saturation(Record):
    """Closed loop: the least concurrency that reaches 95 % of the most requests per second, and all cells tried."""

    concurrency: int
    cells: list[Cell]


class TuningCell(Record):
    """One set of flags at the highest rate at which its cell kept the budget, or at the lowest rate where none did."""

    flags: Flags
    cell: Cell


class Tuning(Record):
    """Every set of flags tried, the default first, the chosen one, and whether it beats the default.

    `gain` is the chosen flags' goodput less the default's, in requests per second. `better`: its lower bound is above
    0. Where it is not, the default is chosen.
    """

    default: Flags
    chosen: Flags
    gain: Interval
    better: bool
    tried: list[TuningCell]
    left_out: dict[str, str] = {}


class LoadProfile(Record):
    """One variant under load. `weights_digest` and `execution` are what it holds for, `flags` what was measured with.

    `trace_sha256` is of the traffic's prompts and answer lengths, `generated` whether a generator made it; `too_long`
    requests of it did not fit the model length and were left out. `kv_tokens` is the engine's KV capacity in tokens,
    `price_per_hour` what an hour of the hardware costs, declared. `inputs` maps each raw result to its SHA-256.
    """

    profile: str
    variant: str
    weights_digest: Sha256
    served_digest: Sha256
    served_name: str
    execution: ExecutionClass
    hardware: Hardware
    engine_version: str
    flags: Flags
    trace_sha256: Sha256
    generated: bool
    too_long: int
    long_tokens: int
    kv_tokens: int
    weight_bytes: int
    budget: Budget
    cells: list[Cell]
    saturation: Saturation
    tuning: Tuning | None
    price_per_hour: float | None = None
    currency: str = ""
    inputs: dict[str, Sha256]

    def within_budget(self) -> Cell | None:
        """The cold open-loop cell with the highest rate that kept the budget; None where none did."""
        kept = [cell for cell in self.cells if cell.kept and cell.cache == "cold" and cell.rate is not None]
        return max(kept, key=lambda cell: cell.rate or 0.0, default=None)


class Serving(Record):
    """`serving/<variant>.json`: the load profile, or why there is none."""

    variant: str
    load: LoadProfile | None
    why: str = ""
