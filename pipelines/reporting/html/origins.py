"""The tables of what everything was made with and from: facts, execution settings, checkpoints, runs, digests."""

from __future__ import annotations

from pipelines.reporting.html.tables import Table, codes, numbers, texts
from pipelines.reporting.material import Material
from pipelines.reporting.provenance import settings
from registry.gate.decision import Decision

MAX_INPUTS = 200


def facts(material: Material) -> list[tuple[str, str]]:
    """What was measured on what: (name, value)."""
    model, engine = material.profile.model, material.baseline
    machine, execution = engine.hardware, engine.execution
    memory = f"{machine.memory_bytes / 1e9:.1f} GB of memory"
    return [
        ("profile", material.decision.profile),
        ("model", f"{model.name}, from {model.repo} at {model.revision}, licence {model.licence}"),
        ("baseline", material.decision.baseline),
        (
            "hardware",
            f"{machine.processor}, {machine.cores} cores, {memory}, {machine.accelerator or 'no accelerator'}",
        ),
        ("served by", f"{execution.engine} {execution.engine_version}, {execution.compute_capability}"),
    ]


def execution_table(material: Material) -> Table:
    """The execution class of every run side by side."""
    engines = material.engines
    columns = [*texts("setting"), *codes(*engines), *texts("remark")]
    return Table("Execution classes, a column per run", columns, settings(engines))


def differing(material: Material) -> list[str]:
    """The names of the settings in which the runs differ."""
    return [name for name, *_, said in settings(material.engines) if said]


def unequal(material: Material) -> list[tuple[str, str]]:
    """(run, settings) that must be equal to the baseline's and are not."""
    found = material.bundle.comparisons.items()
    return [(run, ", ".join(comparison.mismatches)) for run, comparison in found if comparison.mismatches]


def origin_tables(material: Material) -> list[Table]:
    """Checkpoints, runs, what the runs shared, and the files behind the decision, with whole digests."""
    return [_checkpoints(material), _runs(material), _shared(material), _inputs(material.decision)]


def _checkpoints(material: Material) -> Table:
    rows = []
    for variant in material.profile.variants:
        made = material.bundle.manifests[variant]
        size, seconds = f"{made.weight_bytes / 1e6:,.1f} MB", f"{made.wall_s:.1f} on {made.device}"
        digests = [made.weights_digest, made.base_digest, made.recipe_sha256, made.calibration_sha256 or "none"]
        rows.append([variant, made.scheme, size, seconds, *digests])
    columns = [*texts("variant", "scheme"), *numbers("weights", "seconds to make, measured")]
    return Table("Checkpoints", [*columns, *codes("weights digest", "base", "recipe", "calibration")], rows)


def _runs(material: Material) -> Table:
    rows = []
    for run, engine in material.engines.items():
        machine = engine.hardware
        seconds = ", ".join(f"{phase} {wall_s:.1f}" for phase, wall_s in engine.wall_s.items())
        hardware = f"{machine.processor}, {machine.cores} cores, {machine.accelerator or 'no accelerator'}"
        rows.append([run, engine.variant, str(engine.order_seed), hardware, seconds or "none"])
        rows[-1] += [engine.served_digest, engine.generation_key]
    columns = [*texts("run", "variant"), *numbers("order seed"), *texts("hardware", "wall seconds, measured")]
    return Table("Runs", [*columns, *codes("files served", "generation key")], rows)


def _shared(material: Material) -> Table:
    shared = material.baseline.shared
    rows = [
        ["policy", material.decision.policy_sha256],
        ["judge version", material.bundle.judge_version],
        ["tool schemas", shared.toolsets_sha256],
        ["prompt template", shared.template_sha256],
        ["rendered prompts", shared.prompts_sha256],
        ["sampling", shared.sampling_sha256],
    ]
    for suite, asked in shared.suites.items():
        rows += [[f"suite {suite}, file", asked.file_sha256], [f"suite {suite}, {asked.items} ids", asked.ids_sha256]]
    return Table("What all runs shared", [*texts("what"), *codes("SHA-256 or version")], rows)


def _inputs(decision: Decision) -> Table:
    named = list(decision.inputs.items())
    rows = [[path, sha256] for path, sha256 in named[:MAX_INPUTS]]
    if len(named) > MAX_INPUTS:
        rows.append([f"{len(named) - MAX_INPUTS} more, in decision.json", ""])
    return Table("Files behind the decision", codes("file", "SHA-256"), rows)
