"""What a reviewer finds at a version: its tags, and a description with the verdict table and why. Pure."""

from __future__ import annotations

from registry.gate.decision import CandidateVerdict, GateResult, SceneDecision
from registry.store.bundle import Bundle
from registry.store.markup import markdown, plain, row

VERDICT = "verdict."
HEAD = ["scene", "verdict", "gate", "items", "losses", "gains", "lower bound", "margin", "why"]


def version_tags(variant: str, bundle: Bundle) -> dict[str, str]:
    """The tags of a variant's version: what it is, on what it was measured, and its verdict per scene."""
    manifest, engine, decision = bundle.manifests[variant], bundle.engines[variant], bundle.decision
    execution, shared = engine.execution, engine.shared
    tags = {
        "variant": variant,
        "weights_digest": manifest.weights_digest,
        "served_digest": engine.served_digest,
        "weight_bytes": str(manifest.weight_bytes),
        "base_repo": manifest.base_repo,
        "base_revision": manifest.base_revision,
        "base_digest": manifest.base_digest,
        "recipe": manifest.recipe,
        "recipe_sha256": manifest.recipe_sha256,
        "calibration_sha256": manifest.calibration_sha256 or "none",
        "scheme": manifest.scheme,
        "profile": decision.profile,
        "policy_sha256": decision.policy_sha256,
        "judge_version": bundle.judge_version,
        "toolsets_sha256": shared.toolsets_sha256,
        "template_sha256": shared.template_sha256,
        "prompts_sha256": shared.prompts_sha256,
        "sampling_sha256": shared.sampling_sha256,
        "gate_eligible_hardware": execution.device,
        "compute_capability": execution.compute_capability,
        "engine": execution.engine,
        "engine_version": execution.engine_version,
        "linear_kernel": execution.linear_kernel,
        "weight_bits": str(execution.weight_bits),
        "activation_bits": str(execution.activation_bits),
        "dtype": execution.dtype,
        "execution_note": execution.note or "none",
        "tool_parser": engine.tool_parser or "none",
        "dialect": engine.dialect,
    }
    for suite, asked in shared.suites.items():
        tags |= {f"suite_sha256.{suite}": asked.file_sha256, f"suite_items.{suite}": str(asked.items)}
        tags[f"suite_ids_sha256.{suite}"] = asked.ids_sha256
    for scene in decision.scenes:
        tags[VERDICT + scene.scene] = _verdict_word(variant, scene, decision.baseline)
    return {key: plain(value) for key, value in tags.items()}


def version_description(variant: str, bundle: Bundle) -> str:
    """A version's description in Markdown. Texts that come from records are escaped."""
    manifest, execution, decision = bundle.manifests[variant], bundle.engines[variant].execution, bundle.decision
    numerics = ", ".join(
        part
        for part in (
            execution.device,
            f"{execution.engine} {execution.engine_version}",
            execution.linear_kernel,
            f"W{execution.weight_bits}A{execution.activation_bits}",
            execution.note,
        )
        if part
    )
    lines = [
        f"**{markdown(variant)}** of {markdown(manifest.base_repo)} at {markdown(manifest.base_revision)}, "
        f"recipe {markdown(manifest.recipe)}.",
        "",
        f"Measured by profile {markdown(decision.profile)} on {markdown(numerics)}. The verdicts "
        "hold for these numerics and for no others.",
        "",
        row(HEAD),
        row(["---"] * len(HEAD)),
    ]
    for scene in decision.scenes:
        lines += _scene_rows(variant, scene, decision.baseline)
    lines += ["", f"Weights digest `{manifest.weights_digest}`, policy `{decision.policy_sha256}`."]
    return "\n".join(lines) + "\n"


def _scene_rows(variant: str, scene: SceneDecision, baseline: str) -> list[str]:
    chosen = scene.chosen == variant
    verdict = _verdict_of(variant, scene)
    name, word = markdown(scene.scene), _verdict_word(variant, scene, baseline) + (" (chosen)" if chosen else "")
    why = verdict.reason if verdict else scene.reason if chosen else ""
    rows = [row([name, f"**{word}**", *[""] * 6, markdown(why)])]
    for gate in verdict.gates if verdict else []:
        rows.append(row([name, gate.outcome, *_gate_cells(gate), markdown(gate.reason)]))
    return rows


def _gate_cells(gate: GateResult) -> list[str]:
    counts = ["" if count is None else str(count) for count in (gate.n, gate.losses, gate.gains)]
    points = ["" if value is None else f"{value:.2f} pp" for value in (gate.lower_pp, gate.margin_pp)]
    return [markdown(f"{gate.test} {gate.suite or ''}"), *counts, *points]


def _verdict_of(variant: str, scene: SceneDecision) -> CandidateVerdict | None:
    return next((verdict for verdict in scene.candidates if verdict.candidate == variant), None)


def _verdict_word(variant: str, scene: SceneDecision, baseline: str) -> str:
    verdict = _verdict_of(variant, scene)
    if verdict is not None:
        return verdict.outcome
    return "baseline" if variant == baseline else "not a candidate"
