"""The first section: per scene what was decided, on which numbers, what would have changed it, what it cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pipelines.reporting.html.intervals import Interval, domain, interval, interval_strip, intervals_of
from pipelines.reporting.html.limits import limits
from pipelines.reporting.html.turning import what_would_change
from pipelines.reporting.material import Material
from registry.gate.decision import CandidateVerdict, Outcome, SceneDecision


@dataclass(frozen=True)
class Strip:
    """One non-inferiority gate of a candidate, drawn and told."""

    gate: str
    told: str
    drawing: Markup


@dataclass(frozen=True)
class CandidateView:
    """A candidate in a scene; `failing` names its gates that do not pass."""

    name: str
    outcome: Outcome
    serves: bool
    reason: str
    failing: Sequence[str]
    strips: Sequence[Strip]


@dataclass(frozen=True)
class SceneView:
    """A scene on the page. `anchor` is its id there, `share` its share of the traffic in percent."""

    anchor: str
    name: str
    chosen: str
    reason: str
    require: str
    share: float
    candidates: Sequence[CandidateView]
    changes: Sequence[str]
    limits: Sequence[str]


def scene_views(material: Material) -> list[SceneView]:
    """The scenes in the policy's order, candidates cheapest first."""
    return [_scene(number, scene, material) for number, scene in enumerate(material.decision.scenes, 1)]


def _scene(number: int, scene: SceneDecision, material: Material) -> SceneView:
    rows = intervals_of(scene)
    return SceneView(
        anchor=f"scene-{number}",
        name=scene.scene,
        chosen=scene.chosen,
        reason=scene.reason,
        require=scene.require,
        share=100 * material.profile.policy.scenes[scene.scene].traffic_share,
        candidates=[
            _candidate(f"strip-{number}-{index}", scene, verdict, rows)
            for index, verdict in enumerate(scene.candidates)
        ],
        changes=what_would_change(scene, material.decision.baseline),
        limits=limits(scene, material),
    )


def _candidate(name: str, scene: SceneDecision, verdict: CandidateVerdict, rows: Sequence[Interval]) -> CandidateView:
    strips = []
    for index, gate in enumerate(verdict.gates):
        found = interval(verdict.candidate, gate)
        if found is not None:
            strips.append(Strip(found.gate, found.told, interval_strip(f"{name}-{index}", found, domain(rows))))
    return CandidateView(
        name=verdict.candidate,
        outcome=verdict.outcome,
        serves=verdict.candidate == scene.chosen,
        reason=verdict.reason,
        failing=[f"{gate.test} {gate.outcome}" for gate in verdict.gates if gate.outcome != "PASS"],
        strips=strips,
    )
