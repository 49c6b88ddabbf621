"""From a decision to alias moves: which versions must exist, and which alias leaves what for what. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from evalsets.records import InputError, Record, digest
from quantize.manifest import Manifest
from registry.evidence import Sha256
from registry.gate.decision import CandidateVerdict, Decision, SceneDecision
from registry.gate.execution import across, shared_differences

PREVIOUS = "-previous"
CANDIDATE = "-candidate"
RESERVED = re.compile(r"latest|[vV]\d+")


MoveKind = Literal["promotion", "rollback"]


class Version(Record):
    """A version that must exist: one per weights digest, named after the first variant that has it."""

    variant: str
    weights_digest: Sha256


class Move(Record):
    """`alias` leaves `before` (None: unset) for `after`, both weights digests; `reason` is one sentence."""

    alias: str
    scene: str
    before: Sha256 | None
    after: Sha256
    reason: str
    kind: MoveKind = "promotion"


class Plan(Record):
    """What a decision asks of the registry. Moves are in the order in which they must be made.

    Per scene `<scene>-candidate`, then `<scene>-previous`, then `<scene>`: a crash between two of them loses no
    answer to "what served before". A decision that could not be made (exit code 2) has neither versions nor moves.
    """

    decision_sha256: Sha256
    versions: list[Version]
    moves: list[Move]


def plan(
    decision: Decision,
    manifests: dict[str, Manifest],
    aliases: dict[str, str],
    taken_back: Mapping[str, Collection[str]] | None = None,
) -> Plan:
    """The versions and moves that bring `aliases` (alias -> weights digest held now) to what `decision` says.

    An alias that holds its target already is not moved, nor what serves a scene where this very decision was rolled
    back (`taken_back`: scene -> digests of the decisions undone since its last promotion). Raises `InputError` where
    the decision contradicts itself or a manifest, where it rests on declared evidence that its policy does not allow,
    where its variants were measured across execution classes, and where a scene's name cannot be an alias.
    """
    _check(decision, manifests)
    decided = decision.exit_code != 2
    back = taken_back or {}
    moves = [
        move
        for scene in decision.scenes
        for move in _moves(scene, decision, aliases, digest(decision) in back.get(scene.scene, ()))
        if decided
    ]
    return Plan(decision_sha256=digest(decision), versions=_versions(decision) if decided else [], moves=moves)


def aliases_of(scene: str) -> tuple[str, str, str]:
    """A scene's three aliases: what serves it, what served it before, what was measured for it."""
    return scene, scene + PREVIOUS, scene + CANDIDATE


def _versions(decision: Decision) -> list[Version]:
    """Every measured variant's weights, the passing ones and the others: a reviewer wants to see both."""
    first: dict[str, str] = {}
    for variant, weights in decision.weights.items():
        first.setdefault(weights, variant)
    return [Version(variant=variant, weights_digest=weights) for weights, variant in first.items()]


def _moves(scene: SceneDecision, decision: Decision, aliases: dict[str, str], rolled_back: bool) -> Iterable[Move]:
    serving, previous, candidate = aliases_of(scene.scene)
    wanted: list[tuple[str, str, str]] = []
    measured = next((verdict for verdict in scene.candidates if verdict.candidate != decision.baseline), None)
    if measured is not None:
        reason = f"{measured.candidate} was measured: {measured.outcome}"
        wanted.append((candidate, decision.weights[measured.candidate], reason))
    held = aliases.get(serving)
    target, reason = _serving(scene, decision, held)
    if target != held and not rolled_back:
        if held is not None:
            wanted.append((previous, held, f"served {scene.scene} before"))
        wanted.append((serving, target, reason))
    for alias, after, why in wanted:
        if aliases.get(alias) != after:
            yield Move(alias=alias, scene=scene.scene, before=aliases.get(alias), after=after, reason=why)


def _serving(scene: SceneDecision, decision: Decision, held: str | None) -> tuple[str, str]:
    """The weights digest that shall serve the scene, and why.

    The first candidate with PASS. A baseline that is listed after others passes by declaration, as the way out when
    none of them does: then what serves the scene stays, unless it now FAILs or is no candidate any more.
    """
    passed = _passed(scene)
    if passed is not None and (passed.candidate != decision.baseline or passed is scene.candidates[0]):
        return decision.weights[passed.candidate], passed.reason
    baseline = decision.weights[decision.baseline]
    if held is None:
        return baseline, f"no candidate passes and nothing served {scene.scene}: {decision.baseline}, the baseline"
    outcomes = {decision.weights[verdict.candidate]: verdict.outcome for verdict in scene.candidates}
    if outcomes.get(held) == "FAIL":
        return baseline, f"what served {scene.scene} now fails: back to {decision.baseline}, the baseline"
    if held in decision.weights.values() and held not in outcomes:
        return baseline, f"what served {scene.scene} is no candidate now: back to {decision.baseline}, the baseline"
    return held, "no candidate passes and what serves the scene does not fail: the alias stays"


def _passed(scene: SceneDecision) -> CandidateVerdict | None:
    return next((verdict for verdict in scene.candidates if verdict.outcome == "PASS"), None)


def _check(decision: Decision, manifests: dict[str, Manifest]) -> None:
    for variant, weights in decision.weights.items():
        manifest = manifests.get(variant)
        if manifest is None or manifest.weights_digest != weights:
            found = manifest.weights_digest if manifest else "no manifest"
            raise InputError(
                f"decision: weights.{variant} is {weights}, its manifest says {found}; run gate again (dvc repro)"
            )
    names = [alias for scene in decision.scenes for alias in aliases_of(scene.scene)]
    for alias in names:
        if not re.fullmatch(r"[\w-]{1,255}", alias) or RESERVED.fullmatch(alias) or names.count(alias) > 1:
            raise InputError(
                f"decision: scenes: {alias!r} cannot be an alias; use letters, digits, _ and -, not latest, not v1, "
                "no name twice; rename the scene in the policy"
            )
    if decision.exit_code != 2:
        _check_declared(decision)
        _check_classes(decision, manifests)
        for scene in decision.scenes:
            _check_scene(scene, decision)


def _check_declared(decision: Decision) -> None:
    if decision.declared:
        raise InputError(
            f"decision: {', '.join(decision.declared)}: asked of an endpoint whose numerics are declared, not measured "
            "(engine mode remote), so nothing is promoted; measure in mode launch or command, or set "
            "policy.allow_declared and run gate again"
        )


def _check_classes(decision: Decision, manifests: dict[str, Manifest]) -> None:
    """Every variant was evaluated in a class of its own weights, and all on one device and engine."""
    baseline = decision.executions.get(decision.baseline)
    for variant in decision.weights:
        execution = decision.executions.get(variant)
        if execution is None or baseline is None:
            named = variant if execution is None else decision.baseline
            raise InputError(f"decision: executions.{named}: missing, so its verdict holds for nothing; run gate again")
        if names := shared_differences(baseline, execution):
            raise InputError(
                f"decision: measured across execution classes ({', '.join(names)}): "
                f"{across(variant, execution, baseline, decision.baseline)}; measure all on one engine and decide again"
            )
        made = manifests[variant].weight_bits
        if execution.weight_bits != made:
            raise InputError(
                f"decision: executions.{variant} computed with {execution.weight_bits}-bit weights, its manifest says "
                f"{made}; another checkpoint was served: generate again"
            )


def _check_scene(scene: SceneDecision, decision: Decision) -> None:
    named = [decision.baseline, scene.chosen, *(verdict.candidate for verdict in scene.candidates)]
    unknown = [variant for variant in named if variant not in decision.weights]
    if unknown:
        raise InputError(f"decision: scenes.{scene.scene}: no weights digest for {', '.join(unknown)}; run gate again")
    passed = _passed(scene)
    expected = passed.candidate if passed else decision.baseline
    if scene.chosen != expected:
        raise InputError(
            f"decision: scenes.{scene.scene}: chosen is {scene.chosen}, its verdicts say {expected}; run gate again"
        )
