"""Bringing the registry to a plan. Idempotent; a crash between any two writes is made good by the next run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalsets.records import InputError, digest
from registry.gate.decision import Decision
from registry.store import journal
from registry.store.bundle import Bundle
from registry.store.describe import version_description, version_tags
from registry.store.evaluation import evaluation
from registry.store.history import in_order, rollback_plan, taken_back
from registry.store.mlflow_store import Store
from registry.store.plan import Plan, plan
from registry.store.promotion import Promotion, ScenePromotion
from registry.store.rehash import check_checkpoint, was_touched

Say = Callable[[str], None]


@dataclass(frozen=True)
class Target:
    """The registered model of a store, and the folders of the checkpoints that may become its versions."""

    store: Store
    model: str
    checkpoints: dict[str, Path]


def _silent(message: str) -> None:
    """Nobody listens."""


def promote(bundle: Bundle, target: Target, say: Say = _silent) -> tuple[Plan, Promotion]:
    """Plan on what the registry holds now, apply, and return both, with other promoters of this host kept out."""
    with target.store.lock(say):
        journal.settle(target.store, target.model)
        moves = plan(
            bundle.decision,
            bundle.manifests,
            holders(target.store, target.model),
            rolled_back(target.store, target.model, [scene.scene for scene in bundle.decision.scenes]),
        )
        return moves, apply(moves, bundle, target, say)


def apply(moves: Plan, bundle: Bundle, target: Target, say: Say = _silent) -> Promotion:
    """Evaluation run, versions, then journal and alias move by move; what serves each scene afterwards.

    `say` is told what takes long. Nothing is written before every checkpoint that a new version or a move needs was
    found to be the one tested. Raises `InputError` where one is not, where the registered model takes other hardware,
    or where an alias was moved since the plan was made.
    """
    store, model = target.store, target.model
    if moves.decision_sha256 != digest(bundle.decision):
        raise InputError("plan: it was made from another decision; plan again")
    if moves.versions:
        with store.lock(say):
            device = _device(bundle.decision)
            _refuse_other_hardware(store, model, device)
            _check_weights(moves, bundle, target, say)
            store.ensure_model(model, device)
            _refuse_other_hardware(store, model, device)
            journal.settle(store, model)
            run_id = store.runs.record_evaluation(evaluation(bundle))
            for version in moves.versions:
                _ensure_version(version.variant, bundle, target, run_id)
            for move in moves.moves:
                journal.make(store, model, move, moves.decision_sha256)
    return _promotion(store, model, bundle.decision)


def roll_back(store: Store, model: str, scene: str, reason: str, say: Say = _silent) -> Plan:
    """Bring back what served a scene before, with the reason in the journal; the moves that were made.

    A rollback that a crash left half done is finished instead, and no further one is made.

    Raises `InputError` where nothing served the scene before, or without a reason.
    """
    if not reason.strip():
        raise InputError("--reason: say why; it is what the next reader of the journal looks for")
    with store.lock(say):
        open_ = [entry for entry in store.runs.open_entries(model) if (entry.alias, entry.kind) == (scene, "rollback")]
        journal.settle(store, model)
        if open_:  # one that a crash interrupted is this one: going on would take back two
            return Plan(decision_sha256=open_[-1].decision_sha256, versions=[], moves=[])
        moves = rollback_plan(scene, store.runs.entries(model), reason)
        if moves is None:
            raise InputError(
                f"scene {scene} of {model}: nothing served it before what serves it now; nothing to go back to"
            )
        for move in moves.moves:
            journal.make(store, model, move, moves.decision_sha256)
    return moves


def rolled_back(store: Store, model: str, scenes: Sequence[str]) -> dict[str, frozenset[str]]:
    """Scene -> digests of the decisions that were taken back since something was promoted for it."""
    entries = store.runs.entries(model)
    return {scene: taken_back(in_order(entries, scene)) for scene in scenes}


def holders(store: Store, model: str) -> dict[str, str]:
    """Alias -> weights digest held, for every alias that points at a version of this project's."""
    held = store.aliases(model)
    return {alias: version.weights_digest for alias, version in held.items() if version.weights_digest}


def _device(decision: Decision) -> str:
    devices = sorted({execution.device for execution in decision.executions.values()})
    if len(devices) != 1:
        raise InputError(f"decision: executions: measured on {', '.join(devices) or 'nothing'}; measure on one device")
    return devices[0]


def _refuse_other_hardware(store: Store, model: str, device: str) -> None:
    found = store.hardware(model)
    if found not in (None, device):
        raise InputError(
            f"registered model {model}: its hardware tag says {found}, the evidence is from {device}; "
            "evidence holds for the hardware it was measured on: measure there, or use another registered model"
        )


def _check_weights(moves: Plan, bundle: Bundle, target: Target, say: Say) -> None:
    needed = {move.after for move in moves.moves}
    for version in moves.versions:
        manifest, folder = bundle.manifests[version.variant], target.checkpoints[version.variant]
        is_new = target.store.find_version(target.model, version.weights_digest) is None
        # What nothing moves to is read again only where somebody wrote to it: 65 GB take minutes.
        if is_new or version.weights_digest in needed or was_touched(folder, manifest):
            say(f"reading {version.variant} again, {manifest.weight_bytes / 1e9:.1f} GB")
            check_checkpoint(folder, manifest, version.weights_digest)


def _ensure_version(variant: str, bundle: Bundle, target: Target, run_id: str) -> None:
    store, model = target.store, target.model
    tags = version_tags(variant, bundle) | {"decision_sha256": digest(bundle.decision), "evaluation_run": run_id}
    description = version_description(variant, bundle)
    found = store.find_version(model, tags["weights_digest"])
    if found is None:
        found = store.create_version(model, target.checkpoints[variant], run_id, tags, description)
    store.describe_version(model, found, tags, description)


def _promotion(store: Store, model: str, decision: Decision) -> Promotion:
    held = store.aliases(model)
    scenes = {
        scene.scene: ScenePromotion(
            variant=version.tags.get("variant", ""), weights_digest=version.weights_digest, version=version.number
        )
        for scene in decision.scenes
        if (version := held.get(scene.scene)) is not None and version.weights_digest
    }
    return Promotion(model=model, decision_sha256=digest(decision), scenes=scenes)
