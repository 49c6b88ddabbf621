"""Load profiles made up for the tests: rates, throughputs and tails that are easy to reckon with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalsets.records import digest
from registry.evidence import ExecutionClass, Hardware
from registry.load_profile import (
    Budget,
    Cache,
    Cell,
    Flags,
    Interval,
    Latency,
    LoadProfile,
    Saturation,
    Serving,
    Tuning,
    TuningCell,
)

DEFAULT = Flags(max_num_batched_tokens=2048, max_num_seqs=16)
SMALLER = Flags(max_num_batched_tokens=512, max_num_seqs=8, long_prefill_token_threshold=256)
BUDGET = Budget(ttft_ms=1000, itl_ms=100)
MACHINE = Hardware(processor="test chip", cores=2, memory_bytes=24_000_000_000)
EXECUTION = ExecutionClass(
    device="cpu",
    compute_capability="avx2",
    engine="vllm",
    engine_version="0.0",
    linear_kernel="Kernel",
    weight_bits=8,
    activation_bits=16,
    dtype="bfloat16",
)


def interval(estimate: float, share: float = 0.1) -> Interval:
    """An estimate with bounds a share of it below and above."""
    lower, upper = (round(estimate * factor, 6) for factor in (1 - share, 1 + share))
    return Interval(estimate=estimate, lower=lower, upper=upper)


def latency(ttft_ms: float, samples: int = 120) -> Latency:
    quantile = 0.99 if samples >= 300 else 0.95
    times = {"ttft_ms": interval(ttft_ms), "itl_ms": interval(40.0), "e2e_ms": interval(ttft_ms + 4000)}
    return Latency(quantile=quantile, samples=samples, **times)


def cell(
    rate: float | None,
    ttft_ms: float = 500.0,
    tok_s: float = 100.0,
    cache: Cache = "cold",
    scenes: Sequence[str] = ("qa", "tools"),
    **changes: Any,
) -> Cell:
    """A cell that keeps the budget where `ttft_ms` does; `concurrency` instead of a rate makes it a closed loop."""
    broke = [] if ttft_ms <= BUDGET.ttft_ms else [f"TTFT p95 {ttft_ms:g} ms, budget {BUDGET.ttft_ms:g}"]
    groups = {"all": latency(ttft_ms), "short": latency(ttft_ms / 2, 80), "long": latency(2 * ttft_ms, 40)}
    values: dict[str, Any] = {
        "rate": rate,
        "cache": cache,
        "repeats": 2,
        "requests": 120,
        "failed": 0,
        "requests_s": interval(rate or 4.0, 0.05),
        "output_tok_s": interval(tok_s),
        "prompt_tok_s": interval(3 * tok_s),
        "computed_tok_s": interval(2 * tok_s),
        "hit_rate": 0.25 if cache == "cold" else 0.875,
        "preemptions": 0,
        "kv_use_mean": 0.25,
        "kv_use_peak": 0.5,
        "waiting_peak": 3,
        "latency": groups | {scene: latency(ttft_ms + 7, 30) for scene in scenes},
        "goodput": interval(rate or 4.0, 0.05),
        "kept": not broke,
        "broke": broke,
    }
    return Cell.model_validate(values | changes)


def tuning(better: bool = True) -> Tuning:
    """The default and one smaller set, which beats it by 0.5 requests per second, or does not."""
    gain = Interval(estimate=0.5, lower=0.25, upper=0.75) if better else Interval(estimate=0.5, lower=-0.25, upper=1)
    return Tuning(
        default=DEFAULT,
        chosen=SMALLER if better else DEFAULT,
        gain=gain,
        better=better,
        tried=[TuningCell(flags=DEFAULT, cell=cell(2.0)), TuningCell(flags=SMALLER, cell=cell(2.5))],
        left_out={"512-1024-0": "512 batched tokens for 1024 sequences, each needs one"},
    )


def load_profile(variant: str, weights: str, execution: ExecutionClass = EXECUTION, **changes: Any) -> LoadProfile:
    """Rates 1, 2 and 4: the first two keep the budget, with 50 and 100 output tok/s; saturated at 8 at a time."""
    values: dict[str, Any] = {
        "profile": "local",
        "variant": variant,
        "weights_digest": weights,
        "served_digest": weights,
        "served_name": f"model@{weights[:12]}",
        "execution": execution,
        "hardware": MACHINE,
        "engine_version": "0.0",
        "flags": DEFAULT,
        "trace_sha256": digest("trace"),
        "generated": True,
        "too_long": 3,
        "long_tokens": 1024,
        "kv_tokens": 65_536,
        "weight_bytes": 988_097_536,
        "budget": BUDGET,
        "cells": [cell(1.0, 300, 50), cell(2.0), cell(2.0, 200, cache="warm"), cell(4.0, 9000, 150)],
        "saturation": Saturation(
            concurrency=8,
            cells=[cell(None, concurrency=count, requests_s=interval(min(count, 8) / 2)) for count in (1, 8, 16)],
        ),
        "tuning": tuning(),
        "inputs": {"2048-16-0/open-1-cold-0": digest("raw")},
    }
    return LoadProfile.model_validate(values | changes)


def faster(load: LoadProfile, factor: float) -> LoadProfile:
    """The same load profile with `factor` times the output tokens per second in every cell."""

    def scaled(cells: Sequence[Cell]) -> list[Cell]:
        rates = [interval(one.output_tok_s.estimate * factor) for one in cells]
        return [one.model_copy(update={"output_tok_s": rate}) for one, rate in zip(cells, rates, strict=True)]

    saturation = load.saturation.model_copy(update={"cells": scaled(load.saturation.cells)})
    return load.model_copy(update={"cells": scaled(load.cells), "saturation": saturation})


def serving(load: LoadProfile) -> Serving:
    return Serving(variant=load.variant, load=load)


def unmeasured(variant: str, why: str = "the profile measures no load of it") -> Serving:
    return Serving(variant=variant, load=None, why=why)
