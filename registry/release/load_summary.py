"""What a release says of load: the budget, the traffic within it, where throughput ends, and what tuning found."""

from __future__ import annotations

from typing import Literal

from evalsets.records import Record
from registry.evidence import Hardware, Sha256, SharedSettings
from registry.load_profile import Budget, Cell, Flags, Interval, Latency, LoadProfile, Share
from registry.store.load_numbers import ALL, saturated

GROUPS = {ALL, "short", "long"}  # groups of latencies that are no scene
MEASURED = "Measured with `flags`, the batching flags that the gate passed with."
OTHERWISE = "Measured with `flags`; the gate passed with other ones, those in `served`."
DEQUANTIZED = "Served with dequantized weights here, so its speed is that of unquantized ones."
NOT_APPLIED = (
    "`tuned` is shown, not applied: other batching flags change the numerics, and the gate has not passed with them. "
    "Set them in the profile's `engine` and run the gate again."
)
NOT_DECIDED = "Tuning tried other flags; none is shown to beat these."


class WithinBudget(Record):
    """The highest offered rate (requests per second) that kept the budget, and what came of it.

    `latency` is of all requests, `scene_latency` of this scene's, None where they were not told apart. Throughputs per
    second, `hit_rate` of prompt tokens, `kv_use_peak` of the KV cache, shares from 0 to 1.
    """

    rate: float
    latency: Latency | None
    scene_latency: Latency | None
    requests_s: Interval
    output_tok_s: Interval
    prompt_tok_s: Interval
    goodput: Interval
    hit_rate: Share
    kv_use_peak: Share
    preemptions: int


class SaturationPoint(Record):
    """The least concurrency that reaches 95 % of the most requests per second, and what it reaches."""

    concurrency: int
    requests_s: Interval
    output_tok_s: Interval


class Tuned(Record):
    """The flags that beat the default's goodput, and by how many requests per second."""

    flags: Flags
    gain: Interval


class LoadSummary(Record):
    """A variant under load, as far as a release needs it. `within_budget` is None where no cell kept the budget.

    The traffic is that of `trace_sha256`, `generated` where a generator made it. `saturation` is None where its cell
    is not on record, `tuned` where no other flags are shown to be better.
    """

    basis: Literal["measured"]
    hardware: Hardware
    engine_version: str
    trace_sha256: Sha256
    generated: bool
    budget: Budget
    flags: Flags
    within_budget: WithinBudget | None
    saturation: SaturationPoint | None
    tuned: Tuned | None
    note: str


def load_summary(scene: str, load: LoadProfile, gated: SharedSettings) -> LoadSummary:
    """The part of a variant's load profile that its release for a scene holds; `gated` is what the gate passed with."""
    cell, top, tuning = load.within_budget(), saturated(load), load.tuning
    better = tuning is not None and tuning.better
    return LoadSummary(
        basis="measured",
        hardware=load.hardware,
        engine_version=load.engine_version,
        trace_sha256=load.trace_sha256,
        generated=load.generated,
        budget=load.budget,
        flags=load.flags,
        within_budget=_within(scene, cell) if cell else None,
        saturation=SaturationPoint(
            concurrency=load.saturation.concurrency, requests_s=top.requests_s, output_tok_s=top.output_tok_s
        )
        if top
        else None,
        tuned=Tuned(flags=tuning.chosen, gain=tuning.gain) if tuning and better else None,
        note=" ".join(_notes(load, gated)),
    )


def _notes(load: LoadProfile, gated: SharedSettings) -> list[str]:
    batching = (load.flags.max_num_batched_tokens, load.flags.max_num_seqs)
    notes = [MEASURED if batching == (gated.max_num_batched_tokens, gated.max_num_seqs) else OTHERWISE]
    if load.tuning is not None:
        notes.append(NOT_APPLIED if load.tuning.better else NOT_DECIDED)
    return [*notes, DEQUANTIZED] if "dequantized" in load.execution.note else notes


def _within(scene: str, cell: Cell) -> WithinBudget:
    return WithinBudget(
        rate=cell.rate or 0.0,
        latency=cell.latency.get(ALL),
        scene_latency=None if scene in GROUPS else cell.latency.get(scene),
        requests_s=cell.requests_s,
        output_tok_s=cell.output_tok_s,
        prompt_tok_s=cell.prompt_tok_s,
        goodput=cell.goodput,
        hit_rate=cell.hit_rate,
        kv_use_peak=cell.kv_use_peak,
        preemptions=cell.preemptions,
    )
