"""Which gates of a policy cannot be decided with suites of these sizes. Pure; the arithmetic is the gate's own."""

from __future__ import annotations

from collections.abc import Mapping

from evalsets.items import Suite
from evalsets.records import InputError
from pipelines.planning.records import GateCheck
from registry.gate.explain import decidable, explain
from registry.gate.policy import NonInferiority, Policy

NOTICES = ("decidable: ", "UNDECIDABLE: ")


def gate_checks(policy: Policy, suite_sizes: Mapping[Suite, int]) -> list[GateCheck]:
    """Every non-inferiority gate that a candidate has to pass, in the policy's order."""
    found = []
    for name, scene in policy.scenes.items():
        for index, gate in enumerate(scene.gates):
            if isinstance(gate, NonInferiority) and set(scene.candidates) != {policy.baseline}:
                alone = policy.model_copy(update={"scenes": {name: scene.model_copy(update={"gates": [gate]})}})
                found.append(_check(f"policy.scenes.{name}.gates.{index}", alone, gate.suite, suite_sizes))
    return found


def _check(key: str, alone: Policy, suite: Suite, suite_sizes: Mapping[Suite, int]) -> GateCheck:
    items = suite_sizes.get(suite, 0)
    try:
        lines = [line.strip() for line in explain(alone, suite_sizes).splitlines()]
        sound = decidable(alone, suite_sizes)
    except InputError as error:
        return GateCheck(key=key, items=items, decidable=False, why=str(error).partition(": ")[2])
    why = next(line.partition(": ")[2] for line in lines if line.startswith(NOTICES))
    return GateCheck(key=key, items=items, decidable=sound, why=why)
