"""Variants under load as rows and sentences of plain text, for both reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from registry.evidence import Hardware
from registry.load_profile import Budget, Cell, Flags, Interval, Latency, LoadProfile, Tuning, TuningCell
from registry.store.load_numbers import ALL, saturated

CELL_HEAD = [
    *("cache", "requests/s", "output tok/s", "TTFT tail, ms", "ITL tail, ms", "hit rate", "KV peak"),
    *("preemptions", "goodput", "budget"),
]
GROUP_HEAD = ["requests", "samples", "TTFT tail, ms", "ITL tail, ms", "to the last token, ms"]
TUNING_HEAD = ["flags", "rate", "TTFT tail, ms", "ITL tail, ms", "goodput", "budget", "remark"]
MAX_LEFT_OUT = 4  # sets of flags that were not tried
METHOD = (
    "Open loop: requests arrive by a Poisson process at the offered rate, whether or not earlier ones are answered. "
    "Closed loop: so many requests at any time. A cold cell begins with an empty prefix cache, a warm one after the "
    "same requests. In brackets the 95 % interval of a bootstrap over the repeats. A tail is the quantile named with "
    "it: P99 from 300 requests on, else P95. Goodput counts the requests per second that kept both times."
)
NOT_APPLIED = (
    "The flags are shown, not applied: they change the numerics, and the gate has not passed with them. To serve with "
    "them, set them in the profile's engine and run the gate again."
)


def hardware_of(machine: Hardware) -> str:
    """A machine in a few words."""
    memory = f"{machine.memory_bytes / 1e9:.1f} GB of memory"
    return f"{machine.processor}, {machine.cores} cores, {memory}, {machine.accelerator or 'no accelerator'}"


def by_hardware(loads: Iterable[LoadProfile]) -> dict[str, list[LoadProfile]]:
    """The load profiles by what they were measured on: numbers of two machines never share a table or a plot."""
    found: dict[str, list[LoadProfile]] = {}
    for load in loads:
        found.setdefault(hardware_of(load.hardware), []).append(load)
    return found


def cell_row(cell: Cell) -> list[str]:
    """A cell's numbers, under what was offered and `CELL_HEAD`."""
    tail = cell.latency.get(ALL)
    return [
        offered(cell),
        cell.cache,
        spread(cell.requests_s),
        spread(cell.output_tok_s),
        tailed(tail, tail.ttft_ms if tail else None),
        tailed(tail, tail.itl_ms if tail else None),
        f"{100 * cell.hit_rate:.1f} %",
        f"{100 * cell.kv_use_peak:.1f} %",
        str(cell.preemptions),
        spread(cell.goodput),
        kept(cell),
    ]


def group_rows(cell: Cell) -> list[list[str]]:
    """The tails of a cell's groups under `GROUP_HEAD`: all requests, short and long prompts, then per scene."""
    return [
        [group, str(tail.samples), *(tailed(tail, time) for time in (tail.ttft_ms, tail.itl_ms, tail.e2e_ms))]
        for group, tail in cell.latency.items()
    ]


def tuning_row(tried: TuningCell, tuning: Tuning) -> list[str]:
    """A set of flags with its cell, under `TUNING_HEAD`."""
    cell, tail = tried.cell, tried.cell.latency.get(ALL)
    return [
        flags_of(tried.flags),
        offered(cell),
        tailed(tail, tail.ttft_ms if tail else None),
        tailed(tail, tail.itl_ms if tail else None),
        spread(cell.goodput),
        kept(cell),
        ", ".join(marks_of(tried, tuning)),
    ]


def marks_of(tried: TuningCell, tuning: Tuning) -> list[str]:
    """`default` and `chosen`, whichever holds of a set of flags."""
    marks = {"default": tuning.default, "chosen": tuning.chosen}
    return [name for name, flags in marks.items() if tried.flags == flags]


def budget_of(budget: Budget) -> str:
    """What a cell has to keep, in one sentence."""
    return (
        f"Budget: TTFT {budget.ttft_ms:g} ms and ITL {budget.itl_ms:g} ms at the tail, failed requests up to "
        f"{100 * budget.errors:g} %, preemptions up to {budget.preemptions}."
    )


def traffic_of(load: LoadProfile) -> str:
    """What was sent, with which flags, and what was left out of it."""
    source = "made by the generator" if load.generated else "taken from a request log"
    left = f"; {load.too_long} requests did not fit the model length and were left out" if load.too_long else ""
    return (
        f"The traffic is {source} (SHA-256 {load.trace_sha256[:12]}…){left}. Flags: {flags_of(load.flags)}. "
        f"Engine {load.engine_version}."
    )


def saturation_of(load: LoadProfile) -> str:
    """How many tokens the KV cache holds, and where more requests at a time bring no more of them through."""
    point, top = load.saturation, saturated(load)
    tried = ", ".join(str(cell.concurrency) for cell in point.cells if cell.concurrency is not None)
    reached = f": {spread(top.requests_s)} requests/s, {spread(top.output_tok_s)} output tok/s" if top else ""
    last = point.cells and point.concurrency == point.cells[-1].concurrency
    more = ", the most tried, so there may be more to have" if last and len(point.cells) > 1 else ""
    return (
        f"{load.variant} has a KV cache of {load.kv_tokens:,} tokens and is saturated at {point.concurrency} requests "
        f"at a time{reached} (tried {tried}{more})."
    )


def tuning_of(load: LoadProfile) -> str:
    """Whether tuned flags beat the default, and what was left out; nothing where nothing was tried."""
    tuning = load.tuning
    if tuning is None:
        return ""
    gain = f"{spread(tuning.gain)} requests/s"
    left = "; ".join(f"{name}, {why}" for name, why in list(tuning.left_out.items())[:MAX_LEFT_OUT])
    more = len(tuning.left_out) - MAX_LEFT_OUT
    told = (
        f"{load.variant}: {flags_of(tuning.chosen)} beat the default's goodput by {gain}. {NOT_APPLIED}"
        if tuning.better
        else f"{load.variant}: no other flags are shown to beat the default's goodput, which stays; the best of the "
        f"others gains {gain}."
    )
    return f"{told} Not tried: {left}{f'; and {more} more' if more > 0 else ''}." if left else told


def flags_of(flags: Flags) -> str:
    """Batching flags in words."""
    threshold = flags.long_prefill_token_threshold
    prompts = f"long prompts {threshold} tokens a step" if threshold else "long prompts unbounded"
    return f"{flags.max_num_batched_tokens} batched tokens, {flags.max_num_seqs} sequences, {prompts}"


def short_flags(flags: Flags) -> str:
    """Batching flags as `2048-16-0`: batched tokens, sequences, tokens of a long prompt a step (0: unbounded)."""
    return f"{flags.max_num_batched_tokens}-{flags.max_num_seqs}-{flags.long_prefill_token_threshold}"


def offered(cell: Cell) -> str:
    """The load of a cell: `2.5/s`, or `8 at a time`."""
    return f"{cell.rate:g}/s" if cell.rate is not None else f"{cell.concurrency} at a time"


def kept(cell: Cell) -> str:
    """Whether a cell kept the budget, else what broke it."""
    return "kept" if cell.kept else f"broken: {'; '.join(cell.broke)}"


def tailed(tail: Latency | None, time: Interval | None) -> str:
    """A tail with the quantile that it is."""
    return f"P{100 * tail.quantile:g} {spread(time)}" if tail and time else "none"


def spread(value: Interval) -> str:
    """An estimate with its bounds in brackets; without them where they are the estimate, which is then exact."""
    size = max(abs(value.estimate), abs(value.lower), abs(value.upper))
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 3
    # Adding zero turns -0.0 into 0.0.
    estimate, lower, upper = (
        f"{round(part, digits) + 0.0:,.{digits}f}" for part in (value.estimate, value.lower, value.upper)
    )
    return estimate if value.lower == value.upper else f"{estimate} ({lower} to {upper})"


def shown_cells(load: LoadProfile, cold: Sequence[Cell]) -> list[Cell]:
    """At most four cells for a short table: the lowest, the telling and the highest of the cold rates, then a warm one.

    The telling one is that within the budget, or the middle one where that is the lowest or the highest. The warm one
    is the first.
    """
    within = load.within_budget()
    inner = within if within in cold[1:-1] else cold[len(cold) // 2] if cold else None
    chosen = [cell for cell in cold if cell in (cold[0], inner, cold[-1])]
    return chosen + [cell for cell in load.cells if cell.cache == "warm"][:1]
