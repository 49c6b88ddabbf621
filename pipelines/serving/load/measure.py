"""Measuring one variant under load: engines started per set of flags, every pass kept as soon as it is done.

What is kept under the same key is not measured again, so that a test that was stopped goes on where it was.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from evalsets.records import InputError, read_record, write_record
from pipelines.engine import record
from pipelines.engine.launch import Server, free_port, running
from pipelines.engine.numerics import measured_class
from pipelines.engine.settings import engine_argv, engine_environment, recorded_environment
from pipelines.serving.load.bench import Bench, Target, running_bench
from pipelines.serving.load.bench_result import samples_of
from pipelines.serving.load.engine_counters import empty_prefix_cache, watching
from pipelines.serving.load.plan import Pass, flags_name, with_flags
from pipelines.serving.load.results import EngineUnderLoad, Offered, Repeat
from pipelines.serving.load.subject import Subject
from registry.load_profile import Flags

# Opens the engine's cache reset. On loopback, for load tests only: a release with it is refused.
DEV_MODE = {"VLLM_SERVER_DEV_MODE": "1"}
WARM_UP = 4


def measure(subject: Subject, flags: Flags, passes: Sequence[Pass]) -> list[Repeat]:
    """The result of every pass, in order. An engine is started only where one is missing.

    Raises `InputError` where engine or load generator fail; what was measured until then is kept.
    """
    folder = subject.folder / flags_name(flags)
    paths = [folder / f"{one.name}.json" for one in passes]
    if not all(path.exists() for path in [*paths, folder / "engine.json"]):
        _measure_missing(subject, flags, passes, folder)
    return [read_record(path, Repeat) for path in paths]


def engine_under_load(subject: Subject, flags: Flags) -> EngineUnderLoad:
    """What the engine with these flags was; `measure` has written it."""
    return read_record(subject.folder / flags_name(flags) / "engine.json", EngineUnderLoad)


def _measure_missing(subject: Subject, flags: Flags, passes: Sequence[Pass], folder: Path) -> None:
    engine = with_flags(subject.engine, flags)
    port = free_port()
    argv = engine_argv(engine, subject.served.folder, subject.name, port)
    environment = engine_environment(engine) | DEV_MODE
    with (
        running(argv, environment, port, folder / "engine.log", engine.start_timeout_s) as server,
        running_bench(engine.command[0], environment, folder / "bench") as bench,
    ):
        write_record(folder / "engine.json", _engine(subject, server))
        target = Target(server.url, subject.name, subject.served.folder)
        bench.measure(target, subject.trace.repeat(0, subject.requests)[:WARM_UP], Offered(concurrency=1), seed=0)
        for one in tqdm(passes, desc=f"load {flags_name(flags)}", disable=None):
            path = folder / f"{one.name}.json"
            if not path.exists():
                if not sys.stderr.isatty():
                    print(f"load {subject.name}: {flags_name(flags)} {one.name}", flush=True)
                write_record(path, _pass(subject, flags, one, server, bench))


def _pass(subject: Subject, flags: Flags, one: Pass, server: Server, bench: Bench) -> Repeat:
    requests = subject.trace.repeat(one.repeat, subject.requests)
    target = Target(server.url, subject.name, subject.served.folder)
    if one.offered.cache == "cold":
        empty_prefix_cache(server)
    else:
        # The cold pass of these requests may lie in the life of an engine before: fill the cache for certain.
        bench.measure(target, requests, Offered(concurrency=subject.engine.max_num_seqs), seed=one.repeat)
    with watching(server, subject.engine.device) as watch:
        result = bench.measure(target, requests, one.offered, seed=one.repeat)
    samples, duration_s = samples_of(result, requests)
    if watch.counters is None:
        raise InputError(f"{server.url}: its counters were not read; read {server.log} and run again")
    return Repeat(
        flags=flags,
        offered=one.offered,
        repeat=one.repeat,
        duration_s=duration_s,
        samples=samples,
        counters=watch.counters,
        use=watch.use(),
    )


def _engine(subject: Subject, server: Server) -> EngineUnderLoad:
    engine, served = subject.engine, subject.served
    version = record.engine_version(engine.command[0])
    lines = record.kernel_lines(server.log)
    cache = record.cache_config(server.url)
    return EngineUnderLoad(
        execution=measured_class(engine, served, version, lines, recorded_environment(engine_environment(engine))),
        hardware=record.hardware(engine.device),
        kv_tokens=int(cache.get("kv_cache_size_tokens", 0)),
    )
