"""The decision record: per scene and candidate a verdict with its numbers, and the variant chosen."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from evalsets.items import Suite
from evalsets.records import Record
from registry.evidence import ExecutionClass, Sha256

Outcome = Literal["PASS", "FAIL", "INCONCLUSIVE"]


class GateResult(Record):
    """One gate's outcome. Bounds and margin in percentage points of (candidate - baseline); None where not meant.

    `losses_that_pass` is the largest number of losses that would still have passed with these gains,
    `losses_that_fail` the smallest that would have failed. A count rule has its count in `losses`. Counts are whole
    unless items were asked several times or the gate declares a design effect.
    """

    test: str
    suite: Suite | None = None
    verdict: Literal["strict", "tolerant"] | None = None
    outcome: Outcome
    reason: str
    n: int | float | None = None
    losses: int | float | None = None
    gains: int | float | None = None
    drop_pp: float | None = None
    lower_pp: float | None = None
    upper_pp: float | None = None
    margin_pp: float | None = None
    losses_that_pass: int | float | None = None
    losses_that_fail: int | float | None = None


class CandidateVerdict(Record):
    """A candidate for a scene: PASS only if every gate passes, FAIL if one fails, else INCONCLUSIVE."""

    candidate: str
    outcome: Outcome
    reason: str
    gates: list[GateResult]


class SceneDecision(Record):
    """`chosen` is the first candidate with PASS in the policy's order, else the baseline."""

    scene: str
    chosen: str
    reason: str
    require: str
    candidates: list[CandidateVerdict]


class Decision(Record):
    """What may serve which scene, and everything it was concluded from.

    `exit_code`: 2 something could not be judged or compared, 1 a required candidate FAILs, 3 a required one is
    INCONCLUSIVE, 0 otherwise. `broken` names what could not be judged. `weights`, `executions` are per variant.
    `declared` has the runs whose evidence may promote nothing (`registry.gate.declared`); left out where empty.
    """

    profile: str
    baseline: str
    scenes: list[SceneDecision]
    broken: list[str]
    exit_code: Literal[0, 1, 2, 3]
    policy_sha256: Sha256
    weights: dict[str, Sha256]
    executions: dict[str, ExecutionClass]
    inputs: dict[str, Sha256]
    declared: Annotated[list[str], Field(exclude_if=lambda runs: not runs)] = []
