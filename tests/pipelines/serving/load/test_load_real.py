"""The load test against the real engine and its real load generator and sweep, on a tiny model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from evalsets.load import load_toolsets
from pipelines.engine.launch import free_port
from pipelines.engine.served import Served
from pipelines.engine.settings import engine_environment
from pipelines.engine_modes import LaunchEngine
from pipelines.serving.load import measure as measuring
from pipelines.serving.load.cells import cell
from pipelines.serving.load.measure import engine_under_load, measure
from pipelines.serving.load.plan import default_flags, default_passes, tuning_passes
from pipelines.serving.load.subject import Subject
from pipelines.serving.load.sweep import read_sweep
from pipelines.serving.load.sweep_command import sweep_files
from pipelines.serving.load.trace import make_trace
from pipelines.serving.load.tuning import tune
from pipelines.serving.prompt_tokens import PromptTokens
from tests.pipelines.serving.load.load_material import ROOT, load_settings
from tests.pipelines.serving.serving_material import generated

pytestmark = pytest.mark.heavy
PYTHON = str(ROOT / ".venvs/vllm/bin/python")
REQUESTS = 4
SETTINGS = load_settings(
    requests=REQUESTS,
    rates=[2.0, 4.0, 8.0],
    concurrency=[1, 4],
    budget={"ttft_ms": 60_000, "itl_ms": 60_000},
    tuning={"rates": [4.0], "max_num_batched_tokens": [512], "max_num_seqs": [2]},
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "tiny"
    maker = [ROOT / ".venvs/llmcompressor/bin/python", ROOT / "tests/end_to_end/tiny_model.py", folder]
    subprocess.run([str(word) for word in maker], check=True, capture_output=True)
    return folder


@pytest.fixture
def subject(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    engine = LaunchEngine(
        mode="launch",
        command=[PYTHON, "-m", "vllm.entrypoints.openai.api_server"],
        device="cpu",
        dtype="bfloat16",
        max_model_len=4096,
        max_num_seqs=4,
        max_num_batched_tokens=4096,
        prefix_caching=True,
        bind_all_cores=True,
        flags=["--enforce-eager"],
        environment={"VLLM_CPU_KVCACHE_SPACE": "1"},
        dialect="hermes",
        concurrency=1,
        start_timeout_s=900,
        request_timeout_s=300,
    )
    tokens = PromptTokens(checkpoint, load_toolsets(ROOT / "evalsets/data/toolsets.json"))
    trace = make_trace(generated(12), tokens, 2 * REQUESTS, engine.max_model_len)
    served = Served(checkpoint, "0" * 64, (16, 16), False, "")
    return Subject(engine, served, "tiny@000000000000", trace, REQUESTS)


def test_a_load_test_is_measured_kept_and_gone_on_with(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    flags, passes = default_flags(subject.engine), default_passes(SETTINGS)
    repeats = measure(subject, flags, passes)
    assert [(one.offered, one.repeat) for one in repeats] == [(one.offered, one.repeat) for one in passes]
    for one in repeats:
        requests = subject.trace.repeat(one.repeat, REQUESTS)
        assert [sample.output_tokens for sample in one.samples] == [row.output_tokens for row in requests]
        assert one.counters.prompt_tokens == sum(row.prompt_tokens for row in requests) == one.counters.queries
        assert one.counters.generation_tokens == sum(row.output_tokens for row in requests)
    made = {one.offered.model_dump_json() + str(one.repeat): one for one in repeats}
    warm = [one for one in repeats if one.offered.cache == "warm"]
    assert warm
    for one in warm:
        cold = made[one.offered.model_copy(update={"cache": "cold"}).model_dump_json() + str(one.repeat)]
        assert one.counters.hits > cold.counters.hits
    found = cell([one for one in repeats if one.offered == passes[-1].offered], SETTINGS.budget, SETTINGS.long_tokens)
    assert found.kept, found.broke
    assert engine_under_load(subject, flags).kv_tokens > 0

    def nothing_is_started(*_: object) -> None:
        raise AssertionError("all of it was there")

    monkeypatch.setattr(measuring, "_measure_missing", nothing_is_started)
    assert measure(subject, flags, passes) == repeats


def test_the_official_sweep_takes_the_parameter_files_and_its_results_tune(subject: Subject, tmp_path: Path) -> None:
    flags = default_flags(subject.engine)
    command = sweep_files(subject, [flags], [4.0], tmp_path / "sweep", free_port())
    environment = engine_environment(subject.engine) | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    traces = [subject.trace.repeat(number, REQUESTS) for number in range(2)]
    tried = read_sweep(tmp_path / "sweep" / "results", [flags], traces)
    tuning = tune(tried, SETTINGS.budget, SETTINGS.long_tokens)
    assert tuning.chosen == flags
    assert tuning.tried[0].cell.requests == 2 * REQUESTS
    assert len(tuning_passes(SETTINGS)) == tuning.tried[0].cell.repeats
