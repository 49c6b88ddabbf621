"""Gates are checked once per policy and sizes: the exact sums take longer than all else of a plan."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from evalsets.items import Suite
from evalsets.records import digest
from pipelines.planning import assemble
from pipelines.planning.gates import gate_checks
from pipelines.planning.records import GateCheck
from registry.gate.policy import Policy

KNOWN: dict[str, list[GateCheck]] = {}


@pytest.fixture(autouse=True)
def remembered_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    def checks(policy: Policy, suite_sizes: Mapping[Suite, int]) -> list[GateCheck]:
        key = digest([policy.model_dump(mode="json"), dict(suite_sizes)])
        if key not in KNOWN:
            KNOWN[key] = gate_checks(policy, suite_sizes)
        return KNOWN[key]

    monkeypatch.setattr(assemble, "gate_checks", checks)
