"""The official sweep: what is written for it, and what is read from its folder, whole or not at all."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import InputError
from pipelines.serving.load.cells import cell
from pipelines.serving.load.sweep import Commands, bench_parameters, read_sweep, serve_parameters, write_sweep
from pipelines.serving.load.tuning import tune
from registry.load_profile import Flags
from tests.pipelines.serving.load.repeat_material import BUDGET, LONG, result_of, trace_rows

DEFAULT = Flags(max_num_batched_tokens=2048, max_num_seqs=16)
SMALL = Flags(max_num_batched_tokens=512, max_num_seqs=8, long_prefill_token_threshold=256)
TRACES = [trace_rows([100, 200]), trace_rows([300, 1400])]
BENCH = bench_parameters([0.5, 2], [Path("trace-0.jsonl"), Path("trace-1.jsonl")], 2)
COMMANDS = Commands("python", ["python", "-m", "server", "--model", "a b"], ["python", "bench.py"], ["true"])


def swept(folder: Path) -> Path:
    """A folder as the sweep leaves it: a result per combination, with its parameters written over it."""
    for serve in serve_parameters([SMALL, DEFAULT]):
        for bench in BENCH:
            combination = folder / f"SERVE--{serve['_benchmark_name']}-BENCH--{bench['_benchmark_name']}"
            combination.mkdir(parents=True)
            result = {**result_of(TRACES[int(bench["seed"])]), "run_number": 0, **serve, **bench}
            (combination / "run=0.json").write_text(json.dumps(result), "utf-8")
            (combination / "summary.json").write_text(json.dumps([result]), "utf-8")
    (folder / "summary.csv").write_text("a,b\n", "utf-8")
    return folder


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **fields}), "utf-8")


def test_the_parameters_in_the_sweeps_format() -> None:
    assert serve_parameters([DEFAULT, SMALL]) == [
        {
            "_benchmark_name": "2048-16-0",
            "max_num_batched_tokens": 2048,
            "max_num_seqs": 16,
            "long_prefill_token_threshold": 0,
        },
        {
            "_benchmark_name": "512-8-256",
            "max_num_batched_tokens": 512,
            "max_num_seqs": 8,
            "long_prefill_token_threshold": 256,
        },
    ]
    assert [one["_benchmark_name"] for one in BENCH] == [
        f"rate={rate}-repeat={repeat}" for rate in ("0.5", "2") for repeat in (0, 1)
    ]
    assert BENCH[3] == {
        "_benchmark_name": "rate=2-repeat=1",
        "request_rate": 2,
        "seed": 1,
        "dataset_path": "trace-1.jsonl",
        "num_prompts": 2,
        "disable_shuffle": True,
        "save_detailed": True,
    }


def test_the_files_and_the_command_of_a_sweep(tmp_path: Path) -> None:
    argv = write_sweep(tmp_path, serve_parameters([DEFAULT]), BENCH, COMMANDS)
    assert argv[:3] == ["python", "-m", "vllm.benchmarks.sweep.serve"]
    given = dict(zip(argv[3::2], argv[4::2], strict=True))
    assert shlex.split(given["--serve-cmd"]) == COMMANDS.serve
    assert shlex.split(given["--bench-cmd"]) == COMMANDS.bench
    assert json.loads(Path(given["--serve-params"]).read_text("utf-8")) == serve_parameters([DEFAULT])
    assert json.loads(Path(given["--bench-params"]).read_text("utf-8")) == BENCH
    assert (given["--output-dir"], given["--num-runs"]) == (str(tmp_path), "1")
    assert not (tmp_path / given["--experiment-name"]).exists()


def test_a_folder_gives_every_flags_cells_in_order(tmp_path: Path) -> None:
    found = read_sweep(swept(tmp_path), [DEFAULT, SMALL], TRACES)
    assert [flags for flags, _ in found] == [DEFAULT, SMALL]
    for flags, cells in found:
        assert [[(one.offered.rate, one.repeat) for one in repeats] for repeats in cells] == [
            [(0.5, 0), (0.5, 1)],
            [(2.0, 0), (2.0, 1)],
        ]
        assert all(one.flags == flags and one.offered.cache == "cold" for repeats in cells for one in repeats)
    second = found[0][1][0][1]
    assert [one.prompt_tokens for one in second.samples] == [300, 1400]
    assert (second.counters.prompt_tokens, second.counters.generation_tokens) == (1700, 6)
    assert (second.counters.queries, second.counters.hits, second.use.kv_peak) == (0, 0, 0)
    assert cell(found[0][1][1], BUDGET, LONG).prompt_tok_s.estimate == pytest.approx(2000 / 20)
    assert tune(found, BUDGET, LONG).default == DEFAULT


def test_a_warm_up_of_the_sweep_is_no_repeat(tmp_path: Path) -> None:
    first = sorted(swept(tmp_path).glob("*/run=0.json"))[0]
    first.with_name("warmup.json").write_text(first.read_text("utf-8"), "utf-8")
    assert len(read_sweep(tmp_path, [DEFAULT, SMALL], TRACES)) == 2


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "no result of 2048-16-0 rate=0.5 repeat=0; .*--resume"),
        (lambda path: path.with_name("run=0.failure.json").write_text("{}"), "run=0.failure.json: a run .* failed"),
        (lambda path: path.with_name("run=1.json").write_bytes(path.read_bytes()), "run=1.json: repeat 0 .* already"),
        (lambda path: path.write_text("{"), "run=0.json: not JSON"),
        (lambda path: path.write_text("[]"), "run=0.json: not a result"),
        (lambda path: change(path, max_num_seqs=4), "run=0.json: 2048-4-0 is not among"),
        (lambda path: change(path, max_num_seqs=0), "run=0.json: max_num_seqs"),
        (lambda path: change(path, request_rate=None), "run=0.json: request_rate"),
        (lambda path: change(path, seed=2), r"run=0.json: repeat \(seed\) 2, but there are 2 traces"),
        (lambda path: change(path, ttfts=[]), "run=0.json: 0 ttfts for 2 requests"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused(tmp_path: Path, spoil: Callable[[Path], Any], message: str) -> None:
    spoil(swept(tmp_path) / "SERVE--2048-16-0-BENCH--rate=0.5-repeat=0" / "run=0.json")
    with pytest.raises(InputError, match=message):
        read_sweep(tmp_path, [DEFAULT, SMALL], TRACES)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results of a sweep"):
        read_sweep(tmp_path, [DEFAULT], TRACES)
