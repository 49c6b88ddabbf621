"""An engine that a command of the user's own starts: placeholders filled, watched and stopped like a launched one."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from evalsets.records import InputError
from pipelines.engine.settings import api_key, engine_argv, recorded_argv, secrets, shown_argv
from pipelines.engine_modes import CommandEngine
from tests.pipelines.engine.bench import FAKE_ENGINE, QA, TOOLS, Bench
from tests.pipelines.engine.fake_engine import Script, Step

COMMAND = [*FAKE_ENGINE, "--model", "{checkpoint}", "--served-model-name={served_name}", "--port", "{port}", "{flags}"]
BANNER = "(APIServer pid=1) INFO 11-29 20:47:15 [api_utils.py:347]  ▄▄ ▄█ █  version 0.0.7"


def commanded(bench: Bench, **changes: Any) -> Bench:
    bench.engine = {"mode": "command", "command": COMMAND} | changes
    return bench


def test_it_is_started_asked_recorded_and_stopped(bench: Bench) -> None:
    commanded(bench).play(Script(child="child"))
    rows, record = bench.run()
    assert {row.status for suite in rows.values() for row in suite} == {"ok"}
    assert Counter(bench.asked()) == Counter(QA + TOOLS)
    assert (record.mode, record.execution.engine, record.execution.engine_version) == ("command", "vllm", "0.0.1")
    assert record.argv[record.argv.index("--model") + 1] == "runs/bench/checkpoints/bf16"
    assert record.argv[record.argv.index("--port") + 1] == "PORT"
    assert record.argv[-2:] == ["--tool-call-parser", "hermes"]
    assert record.cache_config["block_size"] == "128"
    deadline = time.monotonic() + 10
    while psutil.pid_exists(int(Path("child").read_text())):
        assert time.monotonic() < deadline, "the engine's own child still runs"
        time.sleep(0.02)


def test_a_container_s_words_are_filled_wherever_a_placeholder_stands(bench: Bench) -> None:
    words = [
        "docker",
        "run",
        "-p",
        "127.0.0.1:{port}:8000",
        "-v",
        "{checkpoint}:/model:ro",
        "image",
        "--model",
        "/model",
    ]
    words += ["--served-model-name", "{served_name}", "--port", "8000", "{flags}", '--x={"a": 1}']
    engine = commanded(bench, command=words, flags=["--enforce-eager"]).params().engine
    assert isinstance(engine, CommandEngine)
    filled = engine_argv(engine, Path("runs/x"), "tiny@0123", 4321)
    assert filled[:8] == [
        *["docker", "run", "-p", "127.0.0.1:4321:8000", "-v", f"{Path.cwd()}/runs/x:/model:ro", "image", "--model"]
    ]
    flags = filled[filled.index("--dtype") :]
    assert flags[:2] == ["--dtype", "bfloat16"]
    assert flags[-2:] == ["--enforce-eager", '--x={"a": 1}']
    assert not {"--host", "{flags}"} & set(filled)
    shown = shown_argv(engine, Path("runs/x"), "tiny@0123")
    assert shown[2:6] == ["-p", "127.0.0.1:PORT:8000", "-v", "runs/x:/model:ro"]


def test_the_banner_in_the_log_says_the_version_where_no_page_does(bench: Bench) -> None:
    commanded(bench).play(Script(version=None, log=[BANNER]))
    _, record = bench.run()
    assert record.execution.engine_version == "0.0.7"


def test_an_engine_of_unknown_version_is_refused_before_the_first_item(bench: Bench) -> None:
    commanded(bench).play(Script(version=None))
    with pytest.raises(InputError, match=r"neither its page /version nor .*engine\.log says which version it is"):
        bench.run()
    assert bench.asked() == []


@pytest.mark.heavy
def test_answers_of_another_version_are_not_mixed_in(bench: Bench) -> None:
    commanded(bench, concurrency=1).play(Script(steps={TOOLS[0]: [Step(fault="crash")]}))
    with pytest.raises(InputError, match="ended or hung while answering"):
        bench.run()
    before = bench.asked()
    bench.play(Script(version="0.0.2"))
    with pytest.raises(InputError, match=r"of another engine \(engine_version '0\.0\.1', now '0\.0\.2'\); bring that"):
        bench.run()
    assert bench.asked() == before
    bench.play(Script())
    bench.run()
    assert Counter(bench.asked()) == Counter([*QA, *TOOLS, TOOLS[0]])


def without(word: str) -> list[str]:
    return [other for other in COMMAND if other != word]


BAD = {
    "no checkpoint": (without("{checkpoint}"), "{checkpoint}"),
    "no flags": (without("{flags}"), "{flags}"),
    "flags within a word": ([*without("{flags}"), "--all={flags}"], "{flags} must be one word of its own"),
    "flags twice": ([*COMMAND, "{flags}"], "{flags} must be one word of its own"),
    "an unknown one": ([*COMMAND, "{gpu}"], "no other {name}: {gpu}"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_command_without_its_placeholders_is_refused(bench: Bench, case: str) -> None:
    command, says = BAD[case]
    with pytest.raises(ValidationError) as caught:
        commanded(bench, command=command).params()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["-e", "VLLM_API_KEY=hunter22"], ["-e", "VLLM_API_KEY=***"]),
        (["--env=HF_TOKEN=hunter22"], ["--env=HF_TOKEN=***"]),
        (["-eVLLM_API_KEY=hunter22"], ["-eVLLM_API_KEY=***"]),
        (["-e", "VLLM_USE_X=1", "--max-tokens=4"], ["-e", "VLLM_USE_X=1", "--max-tokens=4"]),
        (["-e", "VLLM_API_KEY"], ["-e", "VLLM_API_KEY"]),
    ],
)
def test_a_secret_that_a_container_is_given_is_masked(words: list[str], shown: list[str]) -> None:
    assert recorded_argv(["docker", "run", *words, "image"]) == ["docker", "run", *shown, "image"]
    assert secrets(words, {}) == ({"hunter22"} if "***" in "".join(shown) else set())
    assert api_key(words, {}) == ("hunter22" if "VLLM_API_KEY=***" in "".join(shown) else None)


def test_an_engine_without_a_health_page_is_ready_by_its_models(bench: Bench) -> None:
    commanded(bench).play(Script(has_health=False))
    rows, _ = bench.run()
    assert {row.status for suite in rows.values() for row in suite} == {"ok"}


def test_a_command_that_ends_at_once_shows_its_log(bench: Bench) -> None:
    tail = ["{checkpoint}", "{served_name}", "{port}", "{flags}"]
    commanded(bench, command=[sys.executable, "-c", "print('no such image'); raise SystemExit(125)", *tail])
    with pytest.raises(InputError, match=r"(?s)ended while starting \(exit code 125\).*\| no such image"):
        bench.run()
    assert [path.name for path in Path("runs/bench").iterdir()] == ["checkpoints"]
