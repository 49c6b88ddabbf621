"""What a decision refuses: names that are not there, policies that mean nothing, weights that are others."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evalsets.records import InputError
from quantize.manifest import Manifest
from registry.evidence import Comparison, EngineRecord
from registry.gate.decide import Evidence, check_weights, decide
from registry.gate.policy import Policy
from tests.registry.gate.evidence_builders import (
    PROFILE,
    SHA,
    candidate_verdicts,
    comparison,
    engine,
    noninferiority_gate,
    tools,
    tools_policy,
)


def refused(policy: Policy, compared: dict[str, Comparison], engines: dict[str, EngineRecord]) -> str:
    again = comparison("baseline-again", tools(0))
    with pytest.raises(InputError) as caught:
        decide(PROFILE, policy, Evidence(compared, again, engines, {}))
    return str(caught.value)


def test_what_the_policy_names_must_be_there() -> None:
    engines = {"bf16": engine("bf16"), "fp8": engine("fp8"), "baseline-again": engine("baseline-again", "bf16")}
    fp8 = {"fp8": comparison("fp8", tools(0))}
    unknown = tools_policy(scene={"candidates": ["fp9", "bf16"], "require": "none"})
    twice = tools_policy(scene={"candidates": ["fp8", "fp8"], "require": "none"})
    qa = tools_policy(noninferiority_gate(suite="qa"))
    expected = [
        (unknown, fp8, engines, "policy.scenes.tools.candidates: 'fp9' is no variant; allowed: bf16, fp8"),
        (twice, fp8, engines, "policy.scenes.tools.candidates: a candidate is named twice"),
        (qa, fp8, engines, "policy.scenes.tools.gates.0.suite: 'qa' was not run; allowed: tools"),
        (tools_policy(), {}, engines, "candidates: 'fp8' is no variant"),
        (tools_policy(), fp8, {"bf16": engines["bf16"]}, "no engine record of baseline-again"),
        (tools_policy(), {"fp8": comparison("awq-int4", tools(0))}, engines, "of awq-int4 with bf16 was given as fp8"),
        (tools_policy(), {"fp8": comparison("fp8", {"qa": candidate_verdicts("qa", 5)})}, engines, "other suites than"),
    ]
    for policy, compared, records, message in expected:
        assert message in refused(policy, compared, records)


BAD_POLICIES: list[dict[str, Any]] = [
    {"gates": []},
    {"gates": [noninferiority_gate(margin_pp=float("nan"))]},
    {"gates": [noninferiority_gate(margin_pp=float("inf"))]},
    {"gates": [noninferiority_gate(margin_pp=0)]},
    {"gates": [noninferiority_gate(alpha=float("nan"))]},
    {"gates": [noninferiority_gate(alpha=0.5)]},
    {"gates": [noninferiority_gate(margin=4)]},
    {"gates": [{"test": "bootstrap", "suite": "tools"}]},
    {"gates": [{"test": "new_losses", "suite": "tools", "families": [], "max_new_losses": 0}]},
    {"gates": [{"test": "new_losses", "suite": "tools", "families": ["typos"], "max_new_losses": 0}]},
    {"require": "fp9"},
    {"candidates": []},
    {"traffic_share": float("nan")},
]


@pytest.mark.parametrize("scene", BAD_POLICIES)
def test_a_policy_that_means_nothing_is_refused(scene: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        tools_policy(scene=scene)


def manifest(variant: str, weights: str) -> Manifest:
    return Manifest(
        variant=variant,
        backend="passthrough",
        base_repo="base",
        base_revision="1",
        base_digest=SHA["bf16"],
        recipe="recipe.yaml",
        recipe_text="",
        recipe_sha256=SHA["other"],
        calibration_sha256=None,
        weight_bits=16,
        activation_bits=16,
        scheme="none",
        versions={},
        device="cpu",
        warnings=[],
        skipped_mappings=0,
        awq_error={},
        files={},
        weights_digest=weights,
        weight_bytes=1,
        wall_s=0.0,
    )


def test_other_weights_than_the_manifests_are_refused() -> None:
    engines = {"fp8": engine("fp8"), "baseline-again": engine("baseline-again", "bf16")}
    good = {"bf16": manifest("bf16", SHA["bf16"]), "fp8": manifest("fp8", SHA["fp8"])}
    check_weights(engines, good)
    with pytest.raises(InputError, match="engine record of fp8: weights 000000000000 were served"):
        check_weights(engines, good | {"fp8": manifest("fp8", SHA["other"])})
