"""What a reviewer finds at a version and at a decision: tags, and a description with the verdicts and why. Pure."""

from __future__ import annotations

from registry.gate.decision import CandidateVerdict, Decision, GateResult, SceneDecision
from registry.store.bundle import Bundle
from registry.store.markup import markdown, plain, row

VERDICT = "verdict."
DESCRIPTION_LIMIT = 5000  # characters, the width of MLflow's column: sqlite takes more, PostgreSQL refuses it
VERDICT_HEAD = ["scene", "verdict", "why"]
GATE_HEAD = ["scene", "gate", "verdict", "items", "losses", "gains", "lower bound", "margin", "why"]
SHORT_REASONS = (400, 200, 100, 50, 0)
GAP = "\n&nbsp;\n"  # MLflow's page puts no space below a table
ELSEWHERE = "The gates in numbers do not fit here: they are in the evaluation run, in report.md."


def version_tags(variant: str, bundle: Bundle) -> dict[str, str]:
    """The tags of a variant's version: what it is, its verdict per scene, and on what it was measured."""
    manifest, engine, decision = bundle.manifests[variant], bundle.engines[variant], bundle.decision
    execution, shared = engine.execution, engine.shared
    verdicts = {VERDICT + scene.scene: verdict_word(variant, scene, decision.baseline) for scene in decision.scenes}
    tags = {
        "variant": variant,
        **verdicts,
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
    return {key: plain(value) for key, value in tags.items()}


def version_description(variant: str, bundle: Bundle) -> str:
    """A version's description in Markdown, at most `DESCRIPTION_LIMIT` characters long.

    The first line is short and without mark-up, since lists of versions show it as it is. Texts that come from records
    are escaped. Where all does not fit, the gates are left out first, then the reasons are cut.
    """
    whole = _description(variant, bundle, True, None)
    if len(whole) <= DESCRIPTION_LIMIT:
        return whole
    shorter = [_description(variant, bundle, False, limit) for limit in (None, *SHORT_REASONS)]
    return next((text for text in shorter if len(text) <= DESCRIPTION_LIMIT), shorter[-1][:DESCRIPTION_LIMIT])


def decision_note(decision: Decision) -> str:
    """A decision in Markdown: what serves each scene and why, and every candidate's verdict."""
    served = ", ".join(f"{markdown(scene.scene)} {_bold(scene.chosen)}" for scene in decision.scenes)
    broken = f" Not judged&#58; {markdown('; '.join(decision.broken))}." if decision.broken else ""
    lines = [f"{served}. Exit code {decision.exit_code}.{broken}", ""]
    lines += [*_head(["scene", "serves", "why"])]
    lines += [row([markdown(scene.scene), _bold(scene.chosen), markdown(scene.reason)]) for scene in decision.scenes]
    lines += ["", *_head(["scene", "candidate", "verdict"])]
    lines += [
        row([markdown(scene.scene), markdown(verdict.candidate), verdict.outcome])
        for scene in decision.scenes
        for verdict in scene.candidates
    ]
    lines += [GAP, "Losses, answers and numbers per variant are in the child runs, in the experiment measurements."]
    return "\n".join(lines) + "\n"


def verdict_word(variant: str, scene: SceneDecision, baseline: str) -> str:
    """A variant's verdict for a scene: PASS, FAIL, INCONCLUSIVE, `baseline` or `not a candidate`."""
    verdict = _verdict_of(variant, scene)
    if verdict is not None:
        return verdict.outcome
    return "baseline" if variant == baseline else "not a candidate"


def _description(variant: str, bundle: Bundle, with_gates: bool, limit: int | None) -> str:
    manifest, execution, decision = bundle.manifests[variant], bundle.engines[variant].execution, bundle.decision
    words = [(scene.scene, _word(variant, scene, decision.baseline)) for scene in decision.scenes]
    numerics = [execution.device, f"{execution.engine} {execution.engine_version}", execution.linear_kernel]
    numerics += [f"W{execution.weight_bits}A{execution.activation_bits}", execution.note]
    lines = [
        f"{markdown(variant)}. {', '.join(f'{markdown(scene)} {word}' for scene, word in words)}.",
        "",
        *_head(VERDICT_HEAD),
        *(_verdict_row(variant, scene, decision.baseline, limit) for scene in decision.scenes),
        "",
        *(_gate_table(variant, decision) if with_gates else [ELSEWHERE]),
        GAP,
        f"From {markdown(manifest.base_repo)} at {markdown(manifest.base_revision)}, "
        f"recipe {markdown(manifest.recipe)}. Measured by profile {markdown(decision.profile)} on "
        f"{markdown(', '.join(filter(None, numerics)))}. The verdicts hold for these numerics and for no others.",
        "",
        f"Weights digest `{manifest.weights_digest}`, policy `{decision.policy_sha256}`.",
    ]
    return "\n".join(lines) + "\n"


def _verdict_row(variant: str, scene: SceneDecision, baseline: str, limit: int | None) -> str:
    verdict = _verdict_of(variant, scene)
    why = verdict.reason if verdict else scene.reason if scene.chosen == variant else ""
    if limit is not None and len(why) > limit:
        why = f"{why[:limit]} …" if limit else ""
    return row([markdown(scene.scene), f"**{_word(variant, scene, baseline)}**", markdown(why)])


def _gate_table(variant: str, decision: Decision) -> list[str]:
    """A gate's reason stands there only where it is not the verdict's."""
    rows = []
    for scene in decision.scenes:
        verdict = _verdict_of(variant, scene)
        for gate in verdict.gates if verdict else []:
            why = "" if verdict is None or gate.reason == verdict.reason else gate.reason
            rows.append(row([markdown(scene.scene), *_gate_cells(gate), markdown(why)]))
    return [*_head(GATE_HEAD), *rows] if rows else []


def _gate_cells(gate: GateResult) -> list[str]:
    counts = ["" if count is None else str(count) for count in (gate.n, gate.losses, gate.gains)]
    points = ["" if value is None else f"{value:.2f} pp" for value in (gate.lower_pp, gate.margin_pp)]
    return [markdown(f"{gate.test} {gate.suite or ''}"), gate.outcome, *counts, *points]


def _head(names: list[str]) -> list[str]:
    """A table's head and rule. MLflow's page gives cells no padding, so the names bring their own."""
    return [row([f"&ensp;{name.replace(' ', '&nbsp;')}&ensp;" for name in names]), row(["---"] * len(names))]


def _word(variant: str, scene: SceneDecision, baseline: str) -> str:
    return verdict_word(variant, scene, baseline) + (" (chosen)" if scene.chosen == variant else "")


def _verdict_of(variant: str, scene: SceneDecision) -> CandidateVerdict | None:
    return next((verdict for verdict in scene.candidates if verdict.candidate == variant), None)


def _bold(text: str) -> str:
    return f"**{markdown(text)}**"
