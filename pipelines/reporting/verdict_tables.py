"""The head of the report: what was measured on what, what was decided, and by which numbers."""

from __future__ import annotations

from pipelines.reporting.material import Material
from pipelines.reporting.summary import meaning
from pipelines.reporting.text import inline, joined, table
from registry.gate.decision import CandidateVerdict, Decision, GateResult, SceneDecision
from registry.gate.outcome import printed
from registry.gate.tango import bounds

REASON_LIMIT = 400
MAX_BROKEN = 20
ALPHA = 0.05


def title(material: Material) -> str:
    """What was measured: profile, model, hardware, result, and how far the result reaches."""
    model, engine, decision = material.profile.model, material.baseline, material.decision
    machine, execution = engine.hardware, engine.execution
    memory = f"{machine.memory_bytes / 1e9:.1f} GB of memory"
    card = inline(machine.accelerator) if machine.accelerator else "no accelerator"
    facts = [
        ["profile", inline(decision.profile)],
        ["model", f"{inline(model.name)}, from {inline(model.repo)} at {inline(model.revision)}"],
        ["licence", inline(model.licence)],
        ["hardware", f"{inline(machine.processor)}, {machine.cores} cores, {memory}, {card}"],
        ["served by", inline(f"{execution.engine} {execution.engine_version}, {execution.compute_capability}")],
        ["result", f"exit code {decision.exit_code}, {inline(meaning(decision))}"],
    ]
    return joined(
        f"# Quantization report: {inline(decision.profile)}", table(["what", "which"], facts), _notes(material)
    )


def scenes(decision: Decision) -> str:
    """The variant chosen per scene, the verdict on every candidate, and what could not be judged."""
    chosen = [
        [inline(scene.scene), f"**{inline(scene.chosen)}**", inline(scene.reason, REASON_LIMIT), inline(scene.require)]
        for scene in decision.scenes
    ]
    verdicts = [
        [inline(scene.scene), inline(verdict.candidate), verdict.outcome, inline(verdict.reason, REASON_LIMIT)]
        for scene in decision.scenes
        for verdict in scene.candidates
    ]
    broken = [f"- {inline(problem)}" for problem in decision.broken[:MAX_BROKEN]]
    if len(decision.broken) > MAX_BROKEN:
        broken.append(f"- and {len(decision.broken) - MAX_BROKEN} more, in decision.json")
    return joined(
        "## Verdict per scene",
        table(["scene", "serves", "why", "required"], chosen),
        "### Candidates",
        table(["scene", "candidate", "verdict", "why"], verdicts),
        joined("### What could not be judged", "\n".join(broken)) if broken else "",
    )


def gates(decision: Decision) -> str:
    """Every gate of every candidate with its numbers, and the reasons that the verdicts above leave out."""
    judged = [
        (scene, verdict, gate) for scene in decision.scenes for verdict in scene.candidates for gate in verdict.gates
    ]
    head = ["scene", "candidate", "gate", "verdict", "n", "losses", "gains", "drop", "lower", "upper", "margin"]
    rows = [_row(scene, verdict, gate) for scene, verdict, gate in judged]
    reasons = [
        f"- {inline(scene.scene)}, {inline(gate.test)}: {inline(gate.reason, REASON_LIMIT)}"
        for scene, verdict, gate in judged
        if gate.reason != verdict.reason
    ]
    return joined(
        "## Gates in numbers",
        "Drop, bounds and margin in percentage points; the bounds are those of (candidate - baseline), one-sided. "
        "*Would pass* is the largest number of losses that passes with these gains, *would fail* the smallest that "
        "fails.",
        table([*head, "would pass", "would fail"], rows),
        "\n".join(dict.fromkeys(reasons)),
    )


def _row(scene: SceneDecision, verdict: CandidateVerdict, gate: GateResult) -> list[str]:
    name = " ".join(filter(None, [gate.test, gate.suite, gate.verdict]))
    counts = [gate.n, gate.losses, gate.gains]
    points = [gate.drop_pp, gate.lower_pp, gate.upper_pp, gate.margin_pp]
    return [
        inline(scene.scene),
        inline(verdict.candidate),
        inline(name),
        gate.outcome,
        *map(count_cell, counts),
        *("" if value is None else f"{value:.2f}" for value in points),
        count_cell(gate.losses_that_pass),
        count_cell(gate.losses_that_fail),
    ]


def count_cell(value: float | None) -> str:
    """A count with at most two decimals; empty where there is none."""
    return "" if value is None else printed(value)


def reach(material: Material) -> list[tuple[str, str]]:
    """How far the result reaches: stand-in, device, what so many items can show. Each as a headline and the rest."""
    notes = []
    if material.profile.model.stand_in:
        notes.append(
            (
                "The model is a stand-in",
                " for the one that is to be served. It shows that the procedure works; no figure here says anything "
                "about another model.",
            )
        )
    if material.baseline.execution.device == "cpu":
        notes.append(
            ("Measured on a CPU.", " The verdicts hold for these kernels and promote nothing on a GPU."),
        )
    if any(settings.take is not None for settings in material.profile.suites.values()):
        notes.append(
            (
                "The numbers of items are small",
                ": a fixed subset of each suite was asked, under margins wide enough for it. This is a demonstration; "
                "a release decision needs the whole suites.",
            )
        )
    return notes + [("", _resolution(suite, len(items))) for suite, items in material.items.items()]


def _resolution(suite: str, count: int) -> str:
    lower, _ = bounds(0, 0, count, ALPHA)
    return (
        f"{suite}: {count} items. One item is {100 / count:.2f} pp, so a smaller difference is noise; "
        f"even without a single disagreement a drop of up to {-100 * lower:.2f} pp stays possible (one-sided 95 %)."
    )


def _notes(material: Material) -> str:
    return "\n".join(f"- {f'**{head}**' if head else ''}{rest}" for head, rest in reach(material))
