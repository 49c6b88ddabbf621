"""The plan of the a100 profile from the shipped config.json alone: the numbers that are known of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.records import record_bytes
from pipelines.planning.assemble import make_plan
from pipelines.planning.read import Options, read_material
from pipelines.planning.records import Plan
from pipelines.planning.text import text
from tests.pipelines.planning.planning_material import ROOT, accepted

PARTS = ("dvc.yaml", "profiles", "quantize", "evalsets")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as far as a plan reads it, without any run or environment."""
    folder = tmp_path_factory.mktemp("tree")
    for name in PARTS:
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="module")
def printed(tree: Path) -> tuple[int, str, str]:
    """Exit code, JSON and text of one plan."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tree)
        plan = make_plan(read_material(Options(Path("profiles/a100.yaml"))), accepted)
    return plan.exit_code, record_bytes(plan).decode(), text(plan)


@pytest.fixture(scope="module")
def plan(printed: tuple[int, str, str]) -> Plan:
    return Plan.model_validate_json(printed[1])


def test_it_may_be_started(plan: Plan) -> None:
    assert (plan.exit_code, plan.refusals, plan.active) == (0, [], False)
    assert plan.model.config.endswith("qwen2.5-32b-instruct.config.json")
    assert (plan.model.parameters.value, plan.model.linear_parameters.value) == (32_763_876_352, 31_205_621_760)


def test_bytes_of_the_checkpoints(plan: Plan) -> None:
    sizes = {name: round(size.value / 1e9, 1) for name, size in plan.disk.checkpoint_bytes.items()}
    assert sizes == {"bf16": 65.5, "fp8": 34.3, "awq-int4": 19.3}
    assert {size.basis for size in plan.disk.checkpoint_bytes.values()} == {"calculated"}
    # The base once, both quantized checkpoints, and twice the base free before the last of them starts.
    base, made = plan.disk.base_bytes.value, plan.disk.checkpoint_bytes
    assert plan.disk.kept_bytes.value == base + made["awq-int4"].value + made["fp8"].value
    assert plan.disk.wanted_bytes.value == 3 * base + made["awq-int4"].value


def test_keys_and_values_on_the_card(plan: Plan) -> None:
    assert (plan.card, plan.tensor_parallel) == ("A100 80G", 1)
    assert {room.kv_bytes_per_token.value for room in plan.rooms} == {262_144}
    tokens = {room.variant: room.kv_tokens.value for room in plan.rooms}
    assert tokens == {"bf16": 36_368, "awq-int4": 212_608, "fp8": 155_376}
    whole = {room.variant: room.sequences["max_model_len"].value for room in plan.rooms}
    assert whole == {"bf16": 4, "awq-int4": 25, "fp8": 18}


def test_memory_of_quantizing(plan: Plan) -> None:
    steps = {step.step: step for step in plan.memory}
    awq = steps["quantize@awq-int4"]
    assert awq.host_bytes is not None and 70e9 < awq.host_bytes.value < 80e9
    assert awq.cache_bytes is not None and awq.cache_bytes.value == 256 * 512 * 5120 * 2
    fp8 = steps["quantize@fp8"].host_bytes
    assert fp8 is not None and fp8.basis == "assumed"


def test_what_is_asked(plan: Plan) -> None:
    assert [(one.run, one.suite, one.requests) for one in plan.asked] == [
        (run, suite, count)
        for run in ("bf16", "awq-int4", "fp8", "baseline-again")
        for suite, count in (("qa", 640), ("tools", 180))
    ]
    assert {one.prompt_tokens.basis for one in plan.asked} == {"assumed"}
    assert {one.most_answer_tokens.value for one in plan.asked} == {640 * 256, 180 * 1024}
    # 6 closed loops, 4 rates three times, the middle one also warm, whose requests are sent twice.
    baseline = next(one for one in plan.load if one.variant == "bf16")
    assert baseline.requests >= 4 + 400 * (6 + 12 + 2 * 3)


def test_gates_and_attempts(plan: Plan) -> None:
    assert [(gate.key, gate.items, gate.decidable) for gate in plan.gates] == [
        ("policy.scenes.qa.gates.0", 640, True),
        ("policy.scenes.tools.gates.0", 180, True),
    ]
    assert {(one.run, one.number, one.declared) for one in plan.attempts} == {("awq-int4", 1, 1), ("fp8", 1, 1)}


def test_stages_are_listed_in_order_and_their_state_is_unknown(plan: Plan, printed: tuple[int, str, str]) -> None:
    names = [stage.name for stage in plan.stages]
    assert names[0] == "fetch" and names[-1] == "release" and "quantize@awq-int4" in names
    assert {stage.state for stage in plan.stages} == {"unknown"}
    assert "state unknown: make use PROFILE=a100 first" in printed[2]


def test_the_text_says_the_basis_of_every_size(printed: tuple[int, str, str]) -> None:
    whole = printed[2]
    assert whole.endswith("exit code 0: the run may be started")
    section = whole.split("\n\n")[2].splitlines()
    assert section[0].startswith("model and disk: qwen2.5-32b-instruct at 5ede1c97bbab")
    assert all(line.endswith(("calculated", "measured", "assumed")) for line in section[1:])
    for line in ("checkpoint fp8                       34.33 GB  calculated", "KV bytes per token"):
        assert line in whole
