"""From a promotion and its evidence to a scene's release. Nothing that was not tested, and passed, is one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from evalsets.records import InputError, digest, explain
from registry.evidence import EngineRecord
from registry.gate.decision import Decision
from registry.gate.execution import across
from registry.release.flags import MODEL, engine_environment, engine_flags
from registry.release.load_summary import LoadSummary, load_summary
from registry.release.release import Prompts, RegisteredModel, Release, ReleaseEvidence, Served, ToolMode
from registry.store.bundle import Bundle
from registry.store.promotion import Promotion

DIGITS = 12  # of the weights digest in a served name


@dataclass(frozen=True)
class Additions:
    """What a caller may add to a release: rollout plan, guardrails, and another summary of load than the evidence's."""

    canary: dict[str, Any] | None = None
    guardrails: dict[str, Any] | None = None
    serving: LoadSummary | None = None


def release_of(scene: str, promotion: Promotion, bundle: Bundle, additions: Additions | None = None) -> Release:
    """The release of a scene as `promotion` left it, on the evidence in `bundle`.

    Raises `InputError` where what serves the scene is not what the decision tested and passed, where the engine record
    states other numerics than the decision, or where a setting that shaped the measurement is not on record.
    """
    check_promotion(promotion, bundle.decision)
    refused = refusal(scene, promotion, bundle.decision)
    if refused is not None:
        raise InputError(f"{scene}: {refused}")
    try:
        return _release(scene, promotion, bundle, additions or Additions())
    except ValidationError as error:
        raise InputError(
            f"{scene}: it cannot be released: {explain(error)}; correct the name and decide again"
        ) from None


def check_promotion(promotion: Promotion, decision: Decision) -> None:
    """Raise `InputError` where the promotion is not that of this decision, or the decision could not be made."""
    if promotion.decision_sha256 != digest(decision):
        raise InputError("promotion.json: it was made from another decision; run the promote stage again")
    if decision.exit_code == 2:
        raise InputError(f"decision.json: nothing is released, it could not be made: {'; '.join(decision.broken)}")


def refusal(scene: str, promotion: Promotion, decision: Decision) -> str | None:
    """Why this decision gives no release of the scene, in one sentence; None where it gives one.

    A scene may go on being served by a version that an earlier decision passed. Then its earlier release stands.
    """
    return next(_refusals(scene, promotion, decision), None)


def _refusals(scene: str, promotion: Promotion, decision: Decision) -> Iterator[str]:
    # Each holds only where those before it did not: the first one is the answer.
    promoted = promotion.scenes.get(scene)
    if scene not in {decided.scene for decided in decision.scenes}:
        yield "the decision says nothing of this scene; run the gate stage again"
    if promoted is None:
        yield f"nothing was promoted for it; promoted are: {', '.join(promotion.scenes) or 'none'}"
        return
    variant, tested = promoted.variant, decision.weights.get(promoted.variant)
    if tested != promoted.weights_digest:
        yield f"{variant} serves it with weights {promoted.weights_digest}, the decision tested {tested or 'none'}"
    outcome = _outcome(scene, variant, decision)
    if variant != decision.baseline and outcome != "PASS":
        yield f"{variant} serves it, and this decision has {outcome or 'no verdict'} for it, not PASS"


def _release(scene: str, promotion: Promotion, bundle: Bundle, additions: Additions) -> Release:
    decision, promoted = bundle.decision, promotion.scenes[scene]
    served = _served(promoted.variant, promotion.model, bundle)
    is_baseline = promoted.variant == decision.baseline
    engine, load = bundle.engines[promoted.variant], bundle.loads.get(promoted.variant)
    shared = engine.shared
    return Release(
        scene=scene,
        model=RegisteredModel(
            name=promotion.model, version=promoted.version, uri=f"models:/{promotion.model}/{promoted.version}"
        ),
        served=served,
        fallback=None if is_baseline else _served(decision.baseline, promotion.model, bundle),
        tool_mode=ToolMode(dialect=engine.dialect, parser=engine.tool_parser),
        prompts=Prompts(
            template_sha256=shared.template_sha256,
            toolsets_sha256=shared.toolsets_sha256,
            prompts_sha256=shared.prompts_sha256,
        ),
        evidence=ReleaseEvidence(
            profile=decision.profile,
            outcome="baseline" if is_baseline else "PASS",
            reason=_reason(scene, promoted.variant, decision),
            decision_sha256=digest(decision),
            policy_sha256=decision.policy_sha256,
            sampling_sha256=shared.sampling_sha256,
            generation_key=engine.generation_key,
            judge_version=bundle.judge_version,
            suites=shared.suites,
        ),
        canary=additions.canary,
        guardrails=additions.guardrails,
        serving=additions.serving or (load_summary(scene, load, shared) if load else None),
    )


def _served(variant: str, model: str, bundle: Bundle) -> Served:
    engine = bundle.engines.get(variant)
    if engine is None:
        raise InputError(f"engine/{variant}.json: missing, so {variant} was not measured; run the stages again")
    _check_measured(engine, variant, model, bundle)
    return Served(
        variant=variant,
        weights_digest=engine.weights_digest,
        served_digest=engine.served_digest,
        served_name=engine.served_name,
        path=_path(engine),
        flags=engine_flags(engine),
        environment=engine_environment(engine),
        execution=engine.execution,
    )


def _check_measured(engine: EngineRecord, variant: str, model: str, bundle: Bundle) -> None:
    where, decision = f"engine/{engine.run}.json", bundle.decision
    weights = decision.weights[variant]
    if engine.variant != variant or engine.weights_digest != weights:
        raise InputError(f"{where}: it served {engine.weights_digest}, the decision tested {weights}; measure again")
    if bundle.manifests[variant].weights_digest != weights:
        raise InputError(f"checkpoints/{variant}/manifest.json: other weights than the decision's; quantize again")
    decided = decision.executions.get(variant)
    if engine.execution != decided:
        words = across(variant, engine.execution, decided) if decided else f"{variant}: the decision has none"
        raise InputError(
            f"{where}: it ran in another execution class than the decision's: {words}; measure and decide again"
        )
    name = f"{model}@{weights[:DIGITS]}"
    if engine.served_name != name:
        raise InputError(f"{where}: it answered to {engine.served_name}, the release's name is {name}; measure again")


def _path(engine: EngineRecord) -> str:
    argv = list(engine.argv)
    value = argv[argv.index(MODEL) + 1 :][:1] if MODEL in argv else []
    if not value:
        raise InputError(f"engine/{engine.run}.json: argv: no {MODEL} and its path in it; measure again")
    return value[0]


def _outcome(scene: str, variant: str, decision: Decision) -> str | None:
    verdicts = [verdict for decided in decision.scenes if decided.scene == scene for verdict in decided.candidates]
    return next((verdict.outcome for verdict in verdicts if verdict.candidate == variant), None)


def _reason(scene: str, variant: str, decision: Decision) -> str:
    decided = next(decided for decided in decision.scenes if decided.scene == scene)
    return next((verdict.reason for verdict in decided.candidates if verdict.candidate == variant), decided.reason)
