"""Sizes, memory, prompts, load tests and attempts: held against the code whose rules they repeat."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.items import Suite, ToolItem
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError
from pipelines.engine.plan import plan_run
from pipelines.params import SuiteSettings
from pipelines.planning.attempts import attempt_numbers, suite_digest
from pipelines.planning.material import Weights
from pipelines.planning.memory import awq_layer_bytes
from pipelines.planning.prompts import LoadSource, characters_as_tokens, load_requests, suite_prompts
from pipelines.planning.records import Amount
from pipelines.planning.sizes import STAGING, disk
from pipelines.planning.traffic import asked, lengths
from pipelines.serving.load.settings import TrafficSettings
from quantize.preconditions import HEADROOM, Room, unmet
from registry.evidence import Attempt, SuiteDigest
from registry.gate.attempts import attempts_at
from registry.gate.policy import Policy
from tests.pipelines.engine.bench import Bench
from tests.pipelines.engine.tiny_checkpoint import make_checkpoint
from tests.pipelines.planning.planning_material import (
    BASE,
    RECIPES,
    ROOT,
    a100,
    material,
    plan_of,
    with_engine,
    with_profile,
)
from tests.pipelines.serving.load.load_material import load_settings
from tests.registry.gate.evidence_builders import SHA, SUITE, engine

TOOLSETS = ROOT / "evalsets/data/toolsets.json"
SUITES: dict[Suite, SuiteSettings] = {
    "qa": SuiteSettings(path=str(ROOT / "evalsets/data/qa.jsonl")),
    "tools": SuiteSettings(path=str(ROOT / "evalsets/data/tool_calls.jsonl")),
}
ENOUGH = 10**15


def calculated(value: int) -> Amount:
    return Amount(value=value, basis="calculated")


def test_disk_and_memory_are_what_the_preconditions_ask_for() -> None:
    awq = RECIPES["awq-int4"]
    assert not unmet({}, BASE, awq, (), Room(STAGING * BASE, int(HEADROOM * BASE)))
    assert "disk free" in unmet({}, BASE, awq, (), Room(STAGING * BASE - 1, ENOUGH))[0]
    assert "memory free" in unmet({}, BASE, awq, (), Room(ENOUGH, int(HEADROOM * BASE) - 1))[0]
    steps = {step.step: step for step in plan_of(material()).memory}
    assert steps["quantize@awq-int4"].host_bytes == calculated(int(HEADROOM * BASE))


@given(sizes=st.lists(st.integers(1, 100), min_size=3, max_size=3), twins=st.sets(st.sampled_from(["fp8"])))
def test_the_disk_is_never_fuller_than_wanted(sizes: list[int], twins: set[str]) -> None:
    made = {name: calculated(size) for name, size in zip(RECIPES, sizes, strict=True)}
    found = disk(calculated(100), made, RECIPES, twins, 0, 0)
    assert found.kept_bytes.value == 100 + sizes[1] + sizes[2] + 100 * len(twins)
    assert found.wanted_bytes.value == max(found.kept_bytes.value, 100 + sizes[1] + STAGING * 100)


def test_a_layer_of_the_32b_and_its_inputs() -> None:
    layer = material().served.config
    weights = (31_205_621_760 // 64 + 2 * 5120 + 5120 + 2 * 1024) * 2
    assert awq_layer_bytes(layer, a100().calibration) == weights + 256 * 512 * (2 * 5120 + 27648) * 2


def test_measured_files_are_taken_before_the_calculation() -> None:
    plan = plan_of(replace(material(), weights=Weights(7_000, 4_000, {"fp8": 3_000})))
    assert plan.disk.base_bytes == Amount(value=7_000, basis="measured") == plan.disk.checkpoint_bytes["bf16"]
    assert plan.disk.checkpoint_bytes["fp8"] == Amount(value=3_000, basis="measured")
    assert plan.disk.checkpoint_bytes["awq-int4"].basis == "calculated"
    steps = {step.step: step for step in plan.memory}
    assert steps["quantize@fp8"].host_bytes == Amount(value=4_000, basis="measured")


def test_a_cpu_engine_holds_what_its_variable_says() -> None:
    host = replace(material(), setting=None, twins=["fp8"])
    cpu = with_engine(host, device="cpu", environment={"VLLM_CPU_KVCACHE_SPACE": "2"})
    plan = plan_of(cpu)
    assert plan.card == "host memory"
    weights = {room.variant: room.weight_bytes.value for room in plan.rooms}
    assert weights["fp8"] == weights["bf16"] > weights["awq-int4"]
    assert {room.kv_tokens.value for room in plan.rooms} == {2 * 2**30 // (262_144 * 128) * 128}
    assert plan.disk.twin_bytes == calculated(BASE)
    without = plan_of(with_engine(cpu, environment={}))
    assert (without.rooms, without.exit_code) == ([], 0)
    assert [line for line in without.warnings if "no VLLM_CPU_KVCACHE_SPACE" in line]


def test_the_load_test_is_every_pass_of_every_set_of_flags() -> None:
    tests = {test.variant: test for test in plan_of(material()).load}
    # Closed loops, rates three times, the middle one also warm; a warm pass fills the cache first; four to warm up.
    default = 400 * (6 + 4 * 3 + 2 * 3) + 4
    for test in tests.values():
        further = len(test.flags) - 1
        assert test.requests == default + further * (400 * 3 * 3 + 4)
        assert test.prompt_tokens.value == 3400 * test.requests
        assert test.answer_tokens.value == 340 * test.requests
        # The profile's own flags are one of the combinations.
        assert len(test.flags) + len(test.left_out) == 18
    # 36,368 tokens hold 25 requests whose own tokens are 1,440 (of which whole blocks are shared).
    assert {flags.max_num_seqs for flags in tests["bf16"].flags[1:]} == {16}
    assert plan_of(replace(material(), prompts=replace(material().prompts, load=()))).load == []


@pytest.mark.parametrize("runs", [1, 3])
def test_passes_multiply_requests_and_tokens(runs: int) -> None:
    suites = {suite: one.model_copy(update={"runs": runs}) for suite, one in a100().suites.items()}
    first = asked(with_profile(material(), suites=suites))[0]
    assert (first.requests, first.prompt_tokens.value, first.most_answer_tokens.value) == (
        640 * runs,
        640 * 500 * runs,
        640 * 256 * runs,
    )


def test_lengths_share_nothing() -> None:
    found = {one.statistic: one.own_tokens for one in lengths(material())}
    assert found == {
        "qa, longest": 756,
        "tools, longest": 2024,
        "load, mean": 3740,
        "load, p95": 3740,
        "max_model_len": 8192,
    }


def test_prompts_are_counted_as_a_run_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    params = Bench(tmp_path).params()
    checkpoint = Path("runs/bench/checkpoints/bf16")
    made = plan_run(params, "bf16", checkpoint, "tiny")
    items = {suite: load_suite(Path(one.path), suite, None) for suite, one in params.suites.items()}
    counted = suite_prompts(items, load_toolsets(Path(params.toolsets)), checkpoint)
    for suite, requests in made.requests.items():
        assert sorted(counted[suite]) == sorted(len(request.prompt_ids) for request in requests)
        assert suite_digest(params.suites[suite], items[suite]) == made.suites[suite]


def test_an_item_without_its_toolset_is_named() -> None:
    item = ToolItem.model_validate(
        {"id": "abc", "domain": "tools", "cluster": "c", "split": "release", "lang": "en", "expect": "no_call"}
        | {"messages": [{"role": "user", "content": "x"}], "toolset": "gone"}
    )
    with pytest.raises(InputError, match="no toolset 'gone'"):
        suite_prompts({"tools": [item]}, {}, None)


@pytest.mark.parametrize("counted", [False, True])
def test_a_load_test_is_as_many_requests_as_it_needs(counted: bool, tmp_path: Path) -> None:
    checkpoint = tmp_path / "tiny"
    make_checkpoint(checkpoint)
    traffic = TrafficSettings(scenes={"qa": 0.5, "tools": 0.5}, handbook_chars=50, tenant_chars=10, answer_chars=10)
    settings = load_settings(traffic=traffic)
    most = 20_000
    found = load_requests(LoadSource(settings, SUITES, TOOLSETS, most), checkpoint if counted else None)
    assert len(found) == settings.requests * settings.repeats
    for one in found:
        assert 0 < one.shared_tokens < one.input_tokens
        assert one.input_tokens + one.output_tokens <= most
    with pytest.raises(InputError, match="load: 4 requests are wanted"):
        load_requests(LoadSource(settings, SUITES, TOOLSETS, 10), checkpoint if counted else None)


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(one: str, other: str) -> None:
    assert 1 <= characters_as_tokens(one) <= characters_as_tokens(one + other) <= len(one + other) + 1


def test_chinese_takes_more_tokens_a_character() -> None:
    assert characters_as_tokens("请问退款多久到账") == 8
    assert characters_as_tokens("How long does a refund take?") == 8


ASKED = SUITE | {"split": "release"}
answers = st.sampled_from(["suite", "other", "bf16"])


def attempt(run: str, weights: str, response: str) -> Attempt:
    return Attempt.model_validate(
        {"profile": "demo", "run": run, "variant": run, "weights_digest": SHA[weights], "suites": {"tools": ASKED}}
        | {"generation_key": SHA["other"], "responses": {"tools": SHA[response]}}
        | {"judge_sha256": SHA["other"], "policy_sha256": SHA["other"]}
    )


@given(st.lists(st.builds(attempt, st.sampled_from(["fp8", "bf16"]), st.sampled_from(["fp8", "other"]), answers)))
def test_the_next_attempt_is_what_the_gate_would_count(ledger: list[Attempt]) -> None:
    gate: dict[str, Any] = {"test": "must_pass", "suite": "tools"}
    scene = {"traffic_share": 1, "candidates": ["fp8", "bf16"], "gates": [gate, gate]}
    policy = Policy.model_validate({"baseline": "bf16", "scenes": {"tools": scene}})
    asked_now: dict[Suite, SuiteDigest] = {
        "tools": ledger[0].suites["tools"] if ledger else attempt("x", "fp8", "suite").suites["tools"]
    }
    fresh = engine("fp8").model_copy(update={"responses": {"tools": SHA["awq-int4"]}})
    (found,) = attempt_numbers(policy, ledger, asked_now, answered=[])
    assert found.number == attempts_at(ledger, fresh, "tools")
    (current,) = attempt_numbers(policy, ledger, asked_now, answered=["fp8"])
    assert current.number == max(1, found.number - 1)
