"""An engine's command line and environment, and what of them may be written down."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipelines.engine.settings import (
    MASK,
    api_key,
    engine_argv,
    engine_environment,
    masked,
    recorded_argv,
    recorded_environment,
    secrets,
    served_name,
)
from pipelines.engine_modes import LaunchEngine, launched
from pipelines.stage import QUIET
from tests.pipelines.engine.bench import Bench

SECRET = "s3cr3t-value"


def engine(bench: Bench, **changes: object) -> LaunchEngine:
    bench.engine = changes
    return launched(bench.params().engine, "this test")


def test_every_setting_that_shapes_an_answer_is_explicit(bench: Bench) -> None:
    settings = engine(bench, prefix_caching=False, tool_parser=None, flags=["--enforce-eager"])
    argv = engine_argv(settings, Path("runs/x"), "tiny@0123", port=4321)
    assert argv == [
        *settings.command,
        *["--model", "runs/x", "--served-model-name", "tiny@0123", "--host", "127.0.0.1", "--port", "4321"],
        *["--dtype", "bfloat16", "--max-model-len", "1024", "--max-num-seqs", "4", "--max-num-batched-tokens", "1024"],
        *["--no-enable-prefix-caching", "--generation-config", "vllm", "--enforce-eager"],
    ]


def test_a_parser_is_named_where_there_is_one(bench: Bench) -> None:
    argv = engine_argv(engine(bench, tool_parser="hermes"), Path("runs/x"), "tiny", port=1)
    assert argv[-3:] == ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]


def test_the_served_name_discloses_the_weights() -> None:
    assert served_name("tiny", "0123456789abcdef" * 4) == "tiny@0123456789ab"


def test_the_profile_s_variables_win_and_telemetry_is_off(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "9")
    found = engine_environment(engine(bench, environment={"VLLM_CPU_KVCACHE_SPACE": "2"}))
    assert found["VLLM_CPU_KVCACHE_SPACE"] == "2"
    assert QUIET.items() <= found.items()
    assert found["PATH"] == os.environ["PATH"]
    assert "VLLM_CPU_OMP_THREADS_BIND" not in found


def test_all_cores_of_this_process_are_bound(bench: Bench) -> None:
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    assert engine_environment(engine(bench, bind_all_cores=True))["VLLM_CPU_OMP_THREADS_BIND"] == cores


ARGV = [
    (["--api-key", SECRET], ["--api-key", MASK]),
    (["--api-key", SECRET, f"{SECRET}2", "--seed", "1"], ["--api-key", MASK, MASK, "--seed", "1"]),
    ([f"--api-key={SECRET}"], [f"--api-key={MASK}"]),
    (["--api_key", SECRET], ["--api_key", MASK]),
    (["--api-k", SECRET], ["--api-k", MASK]),
    (["--hf-token", "--enforce-eager"], ["--hf-token", "--enforce-eager"]),
    (["--hf-token", SECRET], ["--hf-token", MASK]),
    (["--ssl-keyfile-password", SECRET], ["--ssl-keyfile-password", MASK]),
    (["--model", f"s3://me:{SECRET}@host/x"], ["--model", f"s3://{MASK}@host/x"]),
    ([f"--url=redis://me:{SECRET}@@host"], [f"--url=redis://{MASK}@host"]),
    (["--cfg", f'{{"a": "x://:{SECRET}@h", "b": "y@z"}}'], ["--cfg", f'{{"a": "x://{MASK}@h", "b": "y@z"}}']),
    (["--port", "4321", "--seed", "4321"], ["--port", "PORT", "--seed", "4321"]),
    (["--max-num-batched-tokens", "2048", "--seed", "-1"], ["--max-num-batched-tokens", "2048", "--seed", "-1"]),
    (["--served-model-name", "a@b", "--tokenizer", "t"], ["--served-model-name", "a@b", "--tokenizer", "t"]),
]


@pytest.mark.parametrize(("argv", "shown"), ARGV, ids=[" ".join(argv) for argv, _ in ARGV])
def test_a_command_line_is_written_without_its_secrets(argv: list[str], shown: list[str]) -> None:
    assert recorded_argv(["python", "-m", "engine", *argv]) == ["python", "-m", "engine", *shown]


def test_only_the_allow_list_of_variables_is_written() -> None:
    environment = {
        "VLLM_USE_X": "1",
        "VLLM_API_KEY": SECRET,
        "VLLM_SOME_TOKEN": SECRET,
        "VLLM_MY_SECRET_FILE": SECRET,
        "VLLM_PROXY": f"http://me:{SECRET}@proxy:1",
        "HF_TOKEN": SECRET,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "MY_VLLM_X": SECRET,
        "CUDA_VISIBLE_DEVICES": "0",
        "PATH": "/bin",
    }
    shown = {"CUDA_VISIBLE_DEVICES": "0", "VLLM_PROXY": f"http://{MASK}@proxy:1", "VLLM_USE_X": "1"}
    assert list(recorded_environment(environment).items()) == list(shown.items())


def test_secrets_are_those_of_flags_and_of_variables_named_so() -> None:
    environment = {"HF_TOKEN": "from-environment", "SOME_KEY": "1", "TOKENIZERS_PARALLELISM": "not-secret"}
    found = secrets(
        ["python", "--api-key", "one", "two", "--hf-token=three", "--seed", "4", "--api-key", ""], environment
    )
    assert found == {"one", "two", "three", "from-environment"}


def test_a_text_is_masked_longest_secret_first() -> None:
    text = "key abcdef, key abc, redis://u:p@host, plain@host"
    assert masked(text, frozenset({"abc", "abcdef"})) == f"key {MASK}, key {MASK}, redis://{MASK}@host, plain@host"


@pytest.mark.parametrize(
    ("argv", "environment", "key"),
    [
        (["--api-key", "a", "b"], {"VLLM_API_KEY": "c"}, "a"),
        (["--api-key=a"], {}, "a"),
        (["--seed", "1"], {"VLLM_API_KEY": "c"}, "c"),
        (["--api-key", ""], {"VLLM_API_KEY": "c"}, None),
        ([], {"VLLM_API_KEY": ""}, None),
        ([], {}, None),
    ],
)
def test_the_key_that_the_engine_wants(argv: list[str], environment: dict[str, str], key: str | None) -> None:
    assert api_key(argv, environment) == key
