"""What the answers were computed with and what everything was made from: execution classes, digests, commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from pipelines.reporting.material import Material
from pipelines.reporting.text import code, excerpt, inline, joined, table
from registry.evidence import EngineRecord, ExecutionClass
from registry.gate.decision import Decision

COMMAND_LIMIT = 1500
MAX_INPUTS = 40


def executions(material: Material) -> str:
    """The execution class of every run side by side, and whether the settings that must be equal are."""
    engines = material.engines
    rows = [[inline(name), *map(inline, values), said] for name, *values, said in settings(engines)]
    unequal = [
        f"- {inline(run)}: {inline(', '.join(comparison.mismatches))}"
        for run, comparison in material.bundle.comparisons.items()
        if comparison.mismatches
    ]
    differing = [row[0] for row in rows if row[-1]]
    return joined(
        "## Execution classes",
        f"What differs between the runs: {', '.join(differing)}." if differing else "Nothing differs between the runs.",
        table(["setting", *map(inline, engines), ""], rows),
        "**Settings that must be equal and are not:**"
        if unequal
        else "Every shared setting (suites, prompts, sampling, engine, device, limits) is equal in all runs.",
        "\n".join(unequal),
    )


def provenance(material: Material) -> str:
    """Digests, commands, measured seconds and hardware: what the answers and the decision can be traced to."""
    commands = [
        joined(f"{inline(run)}:", excerpt(command(engine), COMMAND_LIMIT)) for run, engine in material.engines.items()
    ]
    return joined(
        "## Provenance",
        "### Checkpoints",
        _checkpoints(material),
        "### Runs",
        _runs(material),
        "### What was shared",
        _shared(material),
        "### Files behind the decision",
        _inputs(material.decision),
        "### Commands",
        *commands,
    )


def settings(engines: Mapping[str, EngineRecord]) -> list[list[str]]:
    """A row per setting of the execution: its name, the value in every run, and `differs` where they do."""
    rows = []
    for name in [*ExecutionClass.model_fields, "tool_parser", "dialect"]:
        values = [_setting(engine, name) for engine in engines.values()]
        rows.append([name, *values, "differs" if len(set(values)) > 1 else ""])
    return rows


def command(engine: EngineRecord) -> str:
    """The command that served a run, as a shell takes it, with its environment variables."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in engine.environment.items()]
    return " ".join([*variables, shlex.join(engine.argv)])


def _setting(engine: EngineRecord, name: str) -> str:
    value = getattr(engine if name in EngineRecord.model_fields else engine.execution, name)
    return "none" if value in (None, "") else str(value)


def _checkpoints(material: Material) -> str:
    rows = []
    for variant in material.profile.variants:
        manifest = material.bundle.manifests[variant]
        calibration = code(manifest.calibration_sha256[:12]) if manifest.calibration_sha256 else "none"
        rows.append(
            [
                inline(variant),
                inline(manifest.scheme),
                f"{manifest.weight_bytes / 1e6:,.1f} MB",
                code(manifest.weights_digest),
                code(manifest.base_digest[:12]),
                code(manifest.recipe_sha256[:12]),
                calibration,
                f"{manifest.wall_s:.1f} on {inline(manifest.device)}",
            ]
        )
    head = ["variant", "scheme", "weights", "weights digest", "base", "recipe", "calibration", "s to make, measured"]
    return table(head, rows)


def _runs(material: Material) -> str:
    rows = []
    for run, engine in material.engines.items():
        seconds = ", ".join(f"{inline(phase)} {wall_s:.1f}" for phase, wall_s in engine.wall_s.items())
        machine = engine.hardware
        rows.append(
            [
                inline(run),
                inline(engine.variant),
                code(engine.served_digest[:12]),
                str(engine.order_seed),
                code(engine.generation_key[:12]),
                inline(f"{machine.processor}, {machine.cores} cores, {machine.accelerator or 'no accelerator'}"),
                seconds or "none",
            ]
        )
    head = ["run", "variant", "files served", "order seed", "generation key", "hardware", "wall seconds, measured"]
    return table(head, rows)


def _shared(material: Material) -> str:
    shared = material.baseline.shared
    rows = [
        ["policy", code(material.decision.policy_sha256)],
        ["judge version", inline(material.bundle.judge_version)],
        ["tool schemas", code(shared.toolsets_sha256)],
        ["prompt template", code(shared.template_sha256)],
        ["rendered prompts", code(shared.prompts_sha256)],
        ["sampling", code(shared.sampling_sha256)],
    ]
    for suite, asked in shared.suites.items():
        rows += [[f"suite {suite}, file", code(asked.file_sha256)]]
        rows += [[f"suite {suite}, {asked.items} ids", code(asked.ids_sha256)]]
    return table(["what", "SHA-256 or version"], rows)


def _inputs(decision: Decision) -> str:
    named = list(decision.inputs.items())
    rows = [[code(path), code(sha256)] for path, sha256 in named[:MAX_INPUTS]]
    if len(named) > MAX_INPUTS:
        rows.append([f"{len(named) - MAX_INPUTS} more, in decision.json", ""])
    return table(["file", "SHA-256"], rows)
