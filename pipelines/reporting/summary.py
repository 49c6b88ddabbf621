"""The few lines that end a run on the terminal."""

from __future__ import annotations

from pathlib import Path

from registry.gate.decision import CandidateVerdict, Decision, GateResult, SceneDecision
from registry.gate.summary import MEANING
from registry.store.markup import one_line

UI_COMMAND = "make ui"
HEAD = [
    "scene",
    "serves",
    "candidate",
    "verdict",
    "suite",
    "losses",
    "gains",
    "n",
    "lower pp",
    "margin pp",
    "not passed",
]
CONSEQUENCE = {
    0: "a release may go ahead",
    1: "a release is blocked",
    2: "a release is blocked until the run is repaired",
    3: "a release is blocked until more items or runs decide it",
}


def run_summary(decision: Decision, report: Path) -> str:
    """The decision table, where the report lies, how to open the MLflow UI, and what the exit code means.

    A candidate has a line per non-inferiority gate, or one without numbers. Control characters are removed.
    """
    rows = [HEAD]
    for scene in decision.scenes:
        for verdict in scene.candidates:
            rows += _rows(scene, verdict)
    return "\n".join(
        [
            f"profile {one_line(decision.profile)}, baseline {one_line(decision.baseline)}",
            "",
            *_aligned(rows),
            "",
            f"report: {report.as_posix()}",
            f"MLflow UI: {UI_COMMAND}",
            f"exit code of the decision: {decision.exit_code}, {meaning(decision)}",
        ]
    )


def meaning(decision: Decision) -> str:
    """The exit code in words, one line: what was decided and what follows for a release."""
    said = MEANING[decision.exit_code]
    if decision.exit_code == 0 and all(scene.require == "none" for scene in decision.scenes):
        said = "no scene requires a candidate"
    if decision.broken:
        said = f"{said} ({one_line(decision.broken[0])}; {len(decision.broken)} in all)"
    return f"{said}: {CONSEQUENCE[decision.exit_code]}"


def _rows(scene: SceneDecision, verdict: CandidateVerdict) -> list[list[str]]:
    serves = "yes" if verdict.candidate == scene.chosen else ""
    failing = ", ".join(f"{gate.test} {gate.outcome}" for gate in verdict.gates if gate.outcome != "PASS")
    start = [scene.scene, serves, verdict.candidate, verdict.outcome]
    compared = [gate for gate in verdict.gates if gate.test == "noninferiority"]
    numbers = [_numbers(gate) for gate in compared] or [[""] * 6]
    return [[one_line(cell) for cell in [*start, *cells, failing]] for cells in numbers]


def _numbers(gate: GateResult) -> list[str]:
    counts = ["" if count is None else str(count) for count in (gate.losses, gate.gains, gate.n)]
    points = ["" if value is None else f"{value:.2f}" for value in (gate.lower_pp, gate.margin_pp)]
    return [gate.suite or "", *counts, *points]


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
