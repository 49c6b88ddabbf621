"""`python -m pipelines.serving sweep`: the active profile's tuning as vLLM's own sweep, written or read."""

from __future__ import annotations

import json
import shlex
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evalsets.records import InputError, write_atomic
from pipelines.engine.launch import free_port
from pipelines.engine.settings import engine_argv
from pipelines.serving.load import bench
from pipelines.serving.load.bench import Target, common_arguments
from pipelines.serving.load.plan import default_flags, flags_name, with_flags
from pipelines.serving.load.settings import LoadSettings, load_params
from pipelines.serving.load.subject import Subject, subject_of
from pipelines.serving.load.sweep import (
    RESULTS,
    Commands,
    bench_parameters,
    read_sweep,
    serve_parameters,
    write_sweep,
)
from pipelines.serving.load.tuning import grid, seqs_bound, tune
from pipelines.serving.tables import table
from registry.load_profile import Flags, Tuning


def sweep(given: Namespace) -> int:
    """Write the sweep of a variant into a folder and print its command; with `--read`, print what it found."""
    params = load_params(given.params)
    settings = params.load
    if settings is None or settings.tuning is None:
        raise InputError(
            f"{given.params}: profile {params.profile} has no load.tuning; make use PROFILE=a100, or add it"
        )
    subject, _ = subject_of(params, settings, given.variant)
    flags, left_out = _flags(settings, subject, given.kv_tokens)
    if not given.read:
        command = sweep_files(subject, flags, settings.tuning.rates, given.folder, free_port())
        print("".join(f"left out: {name}: {why}\n" for name, why in left_out.items()) + shlex.join(command))
        return 0
    traces = [subject.trace.repeat(number, settings.requests) for number in range(settings.repeats)]
    tried = read_sweep(given.folder / RESULTS, flags, traces)
    print(_found(tune(tried, settings.budget, settings.long_tokens, left_out)))
    return 0


def sweep_files(subject: Subject, flags: Sequence[Flags], rates: Sequence[float], folder: Path, port: int) -> list[str]:
    """Write traces and parameter files for these flags and return the sweep's command, started from here."""
    python, url = subject.engine.command[0], f"http://127.0.0.1:{port}"
    files = []
    for number in range(len(subject.trace.requests) // subject.requests):
        rows = subject.trace.repeat(number, subject.requests)
        lines = [json.dumps({"prompt": row.prompt, "output_tokens": row.output_tokens}) for row in rows]
        files.append(folder / f"trace-{number}.jsonl")
        write_atomic(files[-1], ("\n".join(lines) + "\n").encode())
    target = Target(url, subject.name, subject.served.folder)
    commands = Commands(
        python=python,
        serve=engine_argv(with_flags(subject.engine, flags[0]), subject.served.folder, subject.name, port),
        bench=[python, "-m", bench.MODULE, *common_arguments(target, files[0])],
        # The sweep itself knows how to empty the caches of a server that was started as `vllm` only.
        reset=["curl", "--fail", "--silent", "--request", "POST", f"{url}/reset_prefix_cache"],
    )
    return write_sweep(folder, serve_parameters(flags), bench_parameters(rates, files, subject.requests), commands)


def _flags(settings: LoadSettings, subject: Subject, kv_tokens: int | None) -> tuple[list[Flags], dict[str, str]]:
    if settings.tuning is None:
        raise InputError("load.tuning: missing")
    own = float(np.percentile([row.own_tokens for row in subject.trace.requests], 95))
    # Without a figure of the engine's own nothing is left out for the cache's sake.
    bound = seqs_bound(kv_tokens, own) if kv_tokens else max(settings.tuning.max_num_seqs)
    return grid(settings.tuning, default_flags(subject.engine), bound)


def _found(tuning: Tuning) -> str:
    rows = [
        [
            flags_name(one.flags),
            f"{one.cell.rate:g}" if one.cell.rate is not None else "",
            f"{one.cell.goodput.estimate:.2f} ({one.cell.goodput.lower:.2f} to {one.cell.goodput.upper:.2f})",
            "yes" if one.cell.kept else "; ".join(one.cell.broke),
        ]
        for one in tuning.tried
    ]
    head = ["batched tokens - sequences - long prefill", "requests/s", "goodput (measured)", "budget kept"]
    gain = f"{tuning.gain.estimate:+.2f} ({tuning.gain.lower:+.2f} to {tuning.gain.upper:+.2f}) requests/s"
    said = "better than the default" if tuning.better else "no flags are shown to be better than the default"
    return f"{table(head, rows)}\n\nchosen: {flags_name(tuning.chosen)}, {said}: {gain}"
