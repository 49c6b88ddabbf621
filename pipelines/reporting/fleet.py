"""The fleet: what the chosen variants mean over all traffic, in accuracy and in weight memory. Reported, never gated.

The interval of the traffic-weighted difference combines the scenes' own intervals by the method of variance estimates
recovery: G. Zou and A. Donner, "Construction of confidence limits about effect measures: a general approach",
Statistics in Medicine 27 (2008), 1693-1702. That needs independent estimates. Scenes measured on the same suite are
not independent, so their widths are added, which is the most that any correlation can make of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalsets.items import Suite
from pipelines.params import AGAIN
from registry.evidence import PairedTable
from registry.gate.decision import Decision, SceneDecision
from registry.gate.policy import NonInferiority, Policy, Scene
from registry.gate.tango import bounds
from registry.store.bundle import Bundle

ALPHA = 0.05  # of each bound, one-sided


@dataclass(frozen=True)
class Difference:
    """A difference (chosen - baseline) with its bounds, all fractions, and the weight it enters a sum with."""

    weight: float
    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True)
class SceneShare:
    """One scene's part. `difference.weight` is its share of all traffic, accuracies are strict, in 0 to 1.

    `suite` is the one that the scene is measured on: that of its first non-inferiority gate, else of its first gate.
    """

    scene: str
    chosen: str
    suite: Suite
    baseline_accuracy: float
    chosen_accuracy: float
    difference: Difference


@dataclass(frozen=True)
class Variant:
    """A variant's weight files in bytes, measured, and the share of the traffic that it is chosen for (0 to 1)."""

    name: str
    weight_bytes: int
    share: float


@dataclass(frozen=True)
class Fleet:
    """All scenes together. `declared` is the sum of the policy's shares, by which each was divided.

    `saving` is the share of weight memory saved against an all-baseline fleet whose replicas follow the traffic.
    """

    baseline: str
    scenes: Sequence[SceneShare]
    declared: float
    difference: Difference
    variants: Sequence[Variant]
    saving: float

    @property
    def baseline_accuracy(self) -> float:
        return sum(scene.difference.weight * scene.baseline_accuracy for scene in self.scenes)

    @property
    def chosen_accuracy(self) -> float:
        return sum(scene.difference.weight * scene.chosen_accuracy for scene in self.scenes)


def fleet(policy: Policy, bundle: Bundle) -> Fleet | None:
    """The fleet under the decision; None where no traffic is declared or where a scene's suite was not judged."""
    decision = bundle.decision
    declared = sum(policy.scenes[scene.scene].traffic_share for scene in decision.scenes)
    if not declared:
        return None
    scenes = []
    for scene in decision.scenes:
        found = _scene(policy.scenes[scene.scene], scene, bundle, declared)
        if found is None:
            return None
        scenes.append(found)
    variants = [
        Variant(name, manifest.weight_bytes, _share(scenes, name)) for name, manifest in bundle.manifests.items()
    ]
    return Fleet(
        baseline=decision.baseline,
        scenes=scenes,
        declared=declared,
        difference=combined(_by_suite(scenes)),
        variants=variants,
        saving=_saving(decision, variants),
    )


def combined(groups: Sequence[Sequence[Difference]]) -> Difference:
    """The weighted sum of differences, with bounds. Weights are 0 or more.

    Groups are independent of each other: their squared widths add up. Within a group nothing is known of the
    dependence: the widths themselves add up.
    """
    parts = [part for group in groups for part in group]
    estimate = sum(part.weight * part.estimate for part in parts)
    below = [sum(part.weight * (part.estimate - part.lower) for part in group) for group in groups]
    above = [sum(part.weight * (part.upper - part.estimate) for part in group) for group in groups]
    weight = sum(part.weight for part in parts)
    return Difference(weight, estimate, estimate - math.hypot(*below), estimate + math.hypot(*above))


def _scene(rules: Scene, scene: SceneDecision, bundle: Bundle, declared: float) -> SceneShare | None:
    suite = next((gate.suite for gate in rules.gates if isinstance(gate, NonInferiority)), rules.gates[0].suite)
    same = scene.chosen == bundle.decision.baseline
    table = bundle.comparisons[AGAIN if same else scene.chosen].suites[suite].strict
    if not table.n:
        return None
    before = (table.both_right + table.losses) / table.n
    # The baseline in the baseline's place changes nothing; there is nothing to measure, hence no width.
    estimate, lower, upper = (0.0, 0.0, 0.0) if same else _interval(*_counts(scene, suite, table))
    return SceneShare(
        scene=scene.scene,
        chosen=scene.chosen,
        suite=suite,
        baseline_accuracy=before,
        chosen_accuracy=before + estimate,
        difference=Difference(rules.traffic_share / declared, estimate, lower, upper),
    )


def _interval(losses: float, gains: float, n: float) -> tuple[float, float, float]:
    return (gains - losses) / n, *bounds(losses, gains, n, ALPHA)


def _counts(scene: SceneDecision, suite: Suite, table: PairedTable) -> tuple[float, float, float]:
    """Losses, gains and n: those of the strict gate where there is one, since a gate may count clusters for less."""
    verdict = next(verdict for verdict in scene.candidates if verdict.candidate == scene.chosen)
    for gate in verdict.gates:
        if (gate.test, gate.suite, gate.verdict) == ("noninferiority", suite, "strict"):
            losses, gains, n = gate.losses, gate.gains, gate.n
            if losses is not None and gains is not None and n:
                return losses, gains, n
    return table.losses, table.gains, table.n


def _by_suite(scenes: Sequence[SceneShare]) -> list[list[Difference]]:
    suites = dict.fromkeys(scene.suite for scene in scenes)
    return [[scene.difference for scene in scenes if scene.suite == suite] for suite in suites]


def _share(scenes: Sequence[SceneShare], variant: str) -> float:
    return sum(scene.difference.weight for scene in scenes if scene.chosen == variant)


def _saving(decision: Decision, variants: Sequence[Variant]) -> float:
    baseline = next(variant.weight_bytes for variant in variants if variant.name == decision.baseline)
    return 1 - sum(variant.share * variant.weight_bytes for variant in variants) / baseline if baseline else 0.0
