"""The flags' sweep by vLLM's own `vllm.benchmarks.sweep.serve`: its parameter files, its command, and its results.

The sweep starts an engine for every set of flags and empties its caches after every run, so that all runs are cold. It
keeps no counters of the engine and reads none of its gauges.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from evalsets.records import InputError, explain, write_atomic
from pipelines.serving.load.bench_result import samples_of
from pipelines.serving.load.plan import flags_name
from pipelines.serving.load.results import Counters, Offered, Repeat, Use
from pipelines.serving.load.trace import TraceRequest
from registry.load_profile import Flags

MODULE = "vllm.benchmarks.sweep.serve"
RESULTS = "results"
NAME = "_benchmark_name"
# The sweep has counted and looked at none of these.
UNSEEN = Use(kv_mean=0, kv_peak=0, waiting_peak=0, running_peak=0)

Parameters = list[dict[str, str | int | float | bool]]


@dataclass(frozen=True)
class Commands:
    """The engine environment's interpreter, and whole commands: the engine, the load generator, emptying the caches."""

    python: str
    serve: Sequence[str]
    bench: Sequence[str]
    reset: Sequence[str]


class SweepRun(BaseModel):
    """What the sweep adds to a result: the parameters it was made with. `seed` is the repeat."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    max_num_batched_tokens: int
    max_num_seqs: int
    long_prefill_token_threshold: int
    request_rate: float
    seed: int

    @property
    def flags(self) -> Flags:
        """The engine's."""
        return Flags(
            max_num_batched_tokens=self.max_num_batched_tokens,
            max_num_seqs=self.max_num_seqs,
            long_prefill_token_threshold=self.long_prefill_token_threshold,
        )


def serve_parameters(flags: Sequence[Flags]) -> Parameters:
    """The sweep's `--serve-params`: one set of flags each, named by `flags_name`."""
    return [{NAME: flags_name(one), **one.model_dump()} for one in flags]


def bench_parameters(rates: Sequence[float], traces: Sequence[Path], requests: int) -> Parameters:
    """The sweep's `--bench-params`: every rate with every repeat's trace file, of `requests` requests each.

    A repeat is a parameter, and not one of the sweep's `--num-runs`, which would offer the same requests at the same
    times again: it has a trace, and by its `seed` (the repeat, from 0) arrivals, of its own.
    """
    return [
        {
            NAME: f"rate={rate:g}-repeat={repeat}",
            "request_rate": rate,
            "seed": repeat,
            "dataset_path": str(trace),
            "num_prompts": requests,
            "disable_shuffle": True,
            "save_detailed": True,
        }
        for rate in rates
        for repeat, trace in enumerate(traces)
    ]


def write_sweep(folder: Path, serve: Parameters, bench: Parameters, commands: Commands) -> list[str]:
    """Write `serve_params.json` and `bench_params.json` and return the command of the sweep.

    Its results go to `results` in `folder`, which must not be there yet. Relative paths in the commands hold from where
    it is started.
    """
    for name, parameters in (("serve_params.json", serve), ("bench_params.json", bench)):
        write_atomic(folder / name, (json.dumps(parameters, ensure_ascii=False, indent=2) + "\n").encode())
    return [
        *(commands.python, "-m", MODULE),
        *("--serve-cmd", shlex.join(commands.serve), "--bench-cmd", shlex.join(commands.bench)),
        *("--after-bench-cmd", shlex.join(commands.reset)),
        *("--serve-params", str(folder / "serve_params.json"), "--bench-params", str(folder / "bench_params.json")),
        *("--output-dir", str(folder), "--experiment-name", RESULTS, "--num-runs", "1"),
    ]


def read_sweep(
    results: Path, flags: Sequence[Flags], traces: Sequence[Sequence[TraceRequest]]
) -> list[tuple[Flags, list[list[Repeat]]]]:
    """What `pipelines.serving.load.tuning.tune` takes, from the folder of results: `flags` in order, rates ascending.

    `traces` has each repeat's requests. Prompt and answer tokens are those of answered requests. Counters of the
    prefix cache and of preemptions, and use, are 0: hit rate, computed tokens, preemptions, and the preemptions of a
    budget say nothing of such a cell.

    Raises `InputError` naming the file for a failed run, a result that is not detailed or not the trace's, and for
    cells that are missing, come twice, or have other flags.
    """
    if failed := sorted(results.rglob("*failure.json")):
        raise InputError(f"{failed[0]}: a run of the sweep failed; read it, and run again with --resume")
    found: dict[tuple[Flags, float], dict[int, Repeat]] = {}
    for path in sorted(results.glob("*/run=*.json")):
        one = _repeat(path, traces)
        if one.flags not in flags:
            raise InputError(f"{path}: {flags_name(one.flags)} is not among the flags swept; give the sweep's own")
        repeats = found.setdefault((one.flags, one.offered.rate or 0.0), {})
        if one.repeat in repeats:
            raise InputError(f"{path}: repeat {one.repeat} of its cell is there already; run with --num-runs 1")
        repeats[one.repeat] = one
    rates = sorted({rate for _, rate in found})
    if not rates:
        raise InputError(f"{results}: no results of a sweep; give the folder that has its runs (SERVE--...)")
    lost = [
        f"{flags_name(one)} rate={rate:g} repeat={repeat}"
        for one in flags
        for rate in rates
        for repeat in range(len(traces))
        if repeat not in found.get((one, rate), {})
    ]
    if lost:
        raise InputError(f"{results}: no result of {', '.join(lost)}; run again with --resume")
    return [(one, [[found[one, rate][n] for n in range(len(traces))] for rate in rates]) for one in flags]


def _repeat(path: Path, traces: Sequence[Sequence[TraceRequest]]) -> Repeat:
    result = _read(path)
    try:
        run = SweepRun.model_validate(result)
        flags = run.flags
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}; sweep with the written parameter files") from None
    if not 0 <= run.seed < len(traces):
        raise InputError(f"{path}: repeat (seed) {run.seed}, but there are {len(traces)} traces; give those offered")
    samples, duration_s = samples_of(result, traces[run.seed], str(path))
    done = [sample for sample in samples if sample.ttft_s is not None]
    counters = Counters(
        prompt_tokens=sum(sample.prompt_tokens for sample in done),
        generation_tokens=sum(sample.output_tokens for sample in done),
        queries=0,
        hits=0,
        preemptions=0,
    )
    return Repeat(
        flags=flags,
        offered=Offered(rate=run.request_rate),
        repeat=run.seed,
        duration_s=duration_s,
        samples=samples,
        counters=counters,
        use=UNSEEN,
    )


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); run the sweep again with --resume") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: not a result of a run; run the sweep again with --resume")
    return found
