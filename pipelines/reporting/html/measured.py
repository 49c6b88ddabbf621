"""The tables of what was measured: gates, fleet, categories, format, noise and length."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.reporting.answers import kind, noise_cells, ranked
from pipelines.reporting.cost_tables import cost_tables
from pipelines.reporting.fleet import Fleet
from pipelines.reporting.fleet_section import ACCURACY_HEAD, MEMORY_HEAD, accuracy_rows, memory_rows
from pipelines.reporting.format_tables import by_run, disagreement, failures, lengths
from pipelines.reporting.html.tables import Table, codes, numbers, outcomes, texts
from pipelines.reporting.junit import gate_name
from pipelines.reporting.material import Material
from pipelines.reporting.slices import categories
from pipelines.reporting.verdict_tables import count_cell
from registry.evidence import Transition
from registry.gate.decision import CandidateVerdict, Decision, GateResult

MAX_TRANSITIONS = 200


def gate_table(decision: Decision) -> Table:
    """Every gate of every candidate with its numbers."""
    counts = ["n", "losses", "gains", "drop", "lower", "upper", "margin", "would pass", "would fail"]
    columns = [*texts("scene", "candidate", "gate"), *outcomes("verdict"), *numbers(*counts)]
    rows = [
        _gate_row(scene.scene, verdict, gate)
        for scene in decision.scenes
        for verdict in scene.candidates
        for gate in verdict.gates
    ]
    return Table("Every gate with its numbers; drop, bounds and margin in percentage points", columns, rows)


def gate_reasons(decision: Decision) -> list[tuple[str, str]]:
    """(scene and gate, reason) of every gate whose reason is not that of its candidate, each reason once a scene."""
    found = [
        (f"{scene.scene}, {gate.test}", gate.reason)
        for scene in decision.scenes
        for verdict in scene.candidates
        for gate in verdict.gates
        if gate.reason != verdict.reason
    ]
    return list(dict.fromkeys(found))


def fleet_tables(found: Fleet) -> list[Table]:
    """The fleet's accuracy and its weight memory."""
    scene, traffic, serves, suite, *rest = ACCURACY_HEAD
    accuracy = [*texts(scene), *numbers(traffic), *texts(serves, suite), *numbers(*rest)]
    variant, *sizes = MEMORY_HEAD
    return [
        Table("Traffic-weighted strict accuracy", accuracy, accuracy_rows(found)),
        Table("Weight memory per variant", [*texts(variant), *numbers(*sizes)], memory_rows(found)),
    ]


def cost_tables_shown(material: Material) -> list[tuple[Table, Sequence[str]]]:
    """Throughput and unit cost with their remarks; empty where no load was measured."""
    return [
        (Table(found.caption, [*texts(found.head[0]), *numbers(*found.head[1:])], found.rows), found.remarks)
        for found in cost_tables(material)
    ]


def transition_table(caption: str, changes: Sequence[Transition]) -> Table:
    """From which label to which, losses first."""
    rows = [
        [change.baseline, change.candidate, str(change.count), kind(change)]
        for change in ranked(changes)[:MAX_TRANSITIONS]
    ]
    return Table(caption, [*codes("baseline", "candidate"), *numbers("items"), *texts("kind")], rows)


def category_tables(material: Material) -> list[Table]:
    """Per suite: domains and tags, with the strictly right answers of every run, the baseline's first."""
    baseline = material.decision.baseline
    runs = [baseline, *(run for run in material.metrics if run != baseline)]
    columns = [*texts("category"), *numbers("items", *runs), *texts("difficulty")]
    return [
        Table(
            f"Strictly right answers by category, suite {suite}",
            columns,
            categories({run: material.metrics[run].suites[suite] for run in runs}, baseline),
        )
        for suite in material.metrics[baseline].suites
    ]


def format_tables(material: Material) -> list[Table]:
    """Failure rates of both verdicts with what the engine's parser did, and wrong answers by headline family."""
    measured = by_run(material)
    rates = [[run, suite, *failures(found), *disagreement(found.parser_disagreement)] for run, suite, found in measured]
    families = [[run, suite, *map(str, found.families.values())] for run, suite, found in measured]
    names = list(measured[0][2].families) if measured else []
    heads = numbers("strict failures", "tolerant failures", "gap", "parser lost", "parser passed")
    return [
        Table("Failures in form, shares of the judged answers", [*texts("run", "suite"), *heads], rates),
        Table("Wrong answers by headline family", [*texts("run", "suite"), *numbers(*names)], families),
    ]


def noise_table(material: Material) -> Table:
    """The baseline asked again, and the candidates beside it."""
    runs = {material.again.candidate: material.again, **material.candidates}
    rows = [
        [run, suite, *noise_cells(result)]
        for run, comparison in runs.items()
        for suite, result in comparison.suites.items()
    ]
    heads = numbers("n", "losses", "gains", "disagreement psi", "identical answers")
    return Table("Disagreement with the baseline's first run", [*texts("run", "suite"), *heads], rows)


def length_table(material: Material) -> Table:
    """Mean completion tokens of every run."""
    reference = material.metrics[material.decision.baseline].suites
    rows = [[run, suite, *lengths(found, reference[suite])] for run, suite, found in by_run(material)]
    columns = [*texts("run", "suite"), *numbers("mean tokens", "against the baseline")]
    return Table("Completion length", columns, rows)


def _gate_row(scene: str, verdict: CandidateVerdict, gate: GateResult) -> list[str]:
    points = [gate.drop_pp, gate.lower_pp, gate.upper_pp, gate.margin_pp]
    return [
        scene,
        verdict.candidate,
        gate_name(gate),
        gate.outcome,
        *map(count_cell, (gate.n, gate.losses, gate.gains)),
        *("" if value is None else f"{value:.2f}" for value in points),
        *map(count_cell, (gate.losses_that_pass, gate.losses_that_fail)),
    ]
