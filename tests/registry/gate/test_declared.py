"""Evidence of an endpoint that runs elsewhere: verdicts are shown, and promote nothing unless the policy allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from evalsets.records import digest, record_bytes
from registry.evidence import EngineRecord
from registry.gate.decide import Evidence, decide
from registry.gate.decision import Decision
from registry.gate.policy import Policy
from registry.gate.weakening import weaker
from tests.registry.gate.evidence_builders import PROFILE, candidate_verdicts, comparison, engine, tools_policy

RUNS = {"bf16": "bf16", "baseline-again": "bf16", "fp8": "fp8"}


def policy(**changes: Any) -> Policy:
    return Policy.model_validate(tools_policy().model_dump() | changes)


def decided(modes: Mapping[str, str], asked: Policy, losses: int = 0) -> Decision:
    """fp8 against bf16, each run served in its mode (launch, unless given)."""
    engines: dict[str, EngineRecord] = {
        run: engine(run, variant).model_copy(update={"mode": modes.get(run, "launch")}) for run, variant in RUNS.items()
    }
    again = comparison("baseline-again", {"tools": candidate_verdicts("tools", 180, 0, same_text=True)})
    compared = {"fp8": comparison("fp8", {"tools": candidate_verdicts("tools", 180, losses)})}
    return decide(PROFILE, asked, Evidence(compared, again, engines, {}))


ALL_REMOTE = dict.fromkeys(RUNS, "remote")


@pytest.mark.parametrize(
    ("modes", "declared", "outcome"),
    [
        ({}, [], "PASS"),
        (dict.fromkeys(RUNS, "command"), [], "PASS"),
        (ALL_REMOTE, ["bf16", "baseline-again", "fp8"], "INCONCLUSIVE"),
        ({"fp8": "remote"}, ["fp8"], "INCONCLUSIVE"),
        ({"baseline-again": "remote"}, ["baseline-again"], "PASS"),
    ],
)
def test_what_is_declared_passes_nothing(modes: dict[str, str], declared: list[str], outcome: str) -> None:
    decision = decided(modes, policy())
    assert sorted(decision.declared) == sorted(declared)
    verdict = decision.scenes[0].candidates[0]
    assert verdict.outcome == outcome
    assert [gate.outcome for gate in verdict.gates] == ["PASS"]
    if outcome == "INCONCLUSIVE":
        assert "fp8: INCONCLUSIVE, asked of an endpoint whose numerics are declared, not measured" in verdict.reason
        assert verdict.reason.endswith("or set policy.allow_declared")
        assert decision.exit_code == 3


def test_a_policy_may_allow_it() -> None:
    decision = decided(ALL_REMOTE, policy(allow_declared=True))
    assert (decision.declared, decision.scenes[0].candidates[0].outcome, decision.exit_code) == ([], "PASS", 0)


def test_a_fail_stays_a_fail() -> None:
    assert decided(ALL_REMOTE, policy(), losses=60).exit_code == 1


def test_records_and_digests_without_it_are_what_they_were() -> None:
    assert "allow_declared" not in policy().model_dump()
    assert digest(policy()) == digest(policy(allow_declared=False)) != digest(policy(allow_declared=True))
    assert b"declared" not in record_bytes(decided({}, policy()))
    kept = decided(ALL_REMOTE, policy())
    assert Decision.model_validate_json(record_bytes(kept)) == kept


def test_to_allow_it_is_to_ask_less() -> None:
    assert weaker(policy(), policy(allow_declared=True)) == ["allow_declared: true instead of false"]
    assert weaker(policy(allow_declared=True), policy()) == []
