"""Which plots the page has: intervals per scene, transitions, error classes, power curves."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from pipelines.reporting.html.bars import error_bars
from pipelines.reporting.html.heatmap import heatmap
from pipelines.reporting.html.intervals import interval_figure, intervals_of
from pipelines.reporting.html.limits import gate_size, measured_psi
from pipelines.reporting.html.measured import transition_table
from pipelines.reporting.html.power_curve import power_figure
from pipelines.reporting.html.tables import Table
from pipelines.reporting.material import Material
from registry.gate.policy import NonInferiority

NARROW_UP_TO = 5  # labels of a heat map that fits into one column of plots


@dataclass(frozen=True)
class Plot:
    """A figure with its caption, and the numbers behind it where they are not written in it.

    A `wide` one takes two columns where there are so many.
    """

    caption: str
    drawing: Markup
    numbers: Table | None = None
    note: str = ""
    wide: bool = False


def interval_plots(material: Material) -> list[Plot]:
    """One per scene that has intervals."""
    found = [(scene.scene, intervals_of(scene)) for scene in material.decision.scenes]
    return [
        Plot(f"Scene {scene}", interval_figure(f"interval-{number}", scene, rows))
        for number, (scene, rows) in enumerate(found, 1)
        if rows
    ]


def transition_plots(material: Material) -> list[Plot]:
    """One per candidate and suite."""
    plots: list[Plot] = []
    for run, comparison in material.candidates.items():
        for suite, result in comparison.suites.items():
            title = f"{run} on {suite}"
            drawing = heatmap(f"heat-{len(plots) + 1}", f"Class transitions: {title}", result.transitions)
            numbers = transition_table(f"Class transitions, {title}", result.transitions)
            labels = {change.candidate for change in result.transitions}
            unjudged = f"Not judged, and in no figure: {', '.join(result.unjudged)}." if result.unjudged else ""
            plots.append(Plot(title, drawing, numbers, unjudged, wide=len(labels) > NARROW_UP_TO))
    return plots


def error_plots(material: Material) -> list[Plot]:
    """One per suite, with a bar per run."""
    suites = material.metrics[material.decision.baseline].suites
    return [
        Plot(
            f"Suite {suite}",
            error_bars(
                f"errors-{number}",
                f"Error classes on {suite}, by run",
                {run: metrics.suites[suite].primary for run, metrics in material.metrics.items()},
            ),
        )
        for number, suite in enumerate(suites, 1)
    ]


def power_plots(material: Material) -> list[Plot]:
    """One per non-inferiority gate that some candidate has to pass."""
    numbers = {run: number for number, run in enumerate(material.profile.runs)}
    plots: list[Plot] = []
    for scene in material.decision.scenes:
        rules = material.profile.policy.scenes[scene.scene]
        for rule in rules.gates:
            if isinstance(rule, NonInferiority) and set(rules.candidates) != {material.decision.baseline}:
                measured = {run: (numbers[run], psi) for run, psi in measured_psi(rule, material).items()}
                n = gate_size(rule, scene, material)
                caption = f"Scene {scene.scene}: {rule.suite} {rule.verdict}, margin {rule.margin_pp:g} pp, {n} items"
                plots.append(Plot(caption, power_figure(f"power-{len(plots) + 1}", rule, n, measured)))
    return plots
