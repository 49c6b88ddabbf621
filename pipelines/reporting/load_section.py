"""The variants under load as a section of the Markdown report: a few cells of each, saturation, and tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.reporting.load_tables import (
    CELL_HEAD,
    METHOD,
    TUNING_HEAD,
    budget_of,
    by_hardware,
    cell_row,
    saturation_of,
    shown_cells,
    traffic_of,
    tuning_of,
    tuning_row,
)
from pipelines.reporting.text import inline, joined, table
from registry.load_profile import LoadProfile, Serving, Tuning, TuningCell
from registry.store.load_numbers import cold_open

MAX_TUNED = 8  # sets of flags per variant
TEXT_LIMIT = 700
BROKEN_LIMIT = 160


def load_section(serving: Mapping[str, Serving]) -> str:
    """What was measured under load, a part per machine; empty where there is no record of it at all."""
    if not serving:
        return ""
    loads = [found.load for found in serving.values() if found.load is not None]
    without = [
        f"- {inline(variant)}: no load profile. {inline(found.why)}"
        for variant, found in serving.items()
        if found.load is None
    ]
    parts = [_part(machine, group) for machine, group in by_hardware(loads).items()]
    return joined("## Load", METHOD if loads else "", *parts, "\n".join(without))


def _part(machine: str, loads: Sequence[LoadProfile]) -> str:
    rows = []
    for load in loads:
        made = [cell_row(cell) for cell in shown_cells(load, cold_open(load))]
        rows += [[inline(load.variant), *numbers, inline(kept, BROKEN_LIMIT)] for *numbers, kept in made]
    # Equal for all variants of a profile; where it is not, each is said.
    traffic = dict.fromkeys(text for load in loads for text in (traffic_of(load), budget_of(load.budget)))
    told = [*traffic, *map(saturation_of, loads), _left_out(loads)]
    return joined(
        f"### Measured on {inline(machine)}",
        table(["variant", "load", *CELL_HEAD], rows),
        "\n".join(f"- {inline(text, TEXT_LIMIT)}" for text in told if text),
        *(_tuning(load, load.tuning) for load in loads if load.tuning is not None),
    )


def _tuning(load: LoadProfile, tuning: Tuning) -> str:
    made = [tuning_row(tried, tuning) for tried in _shown(tuning)]
    rows = [[*numbers, inline(kept, BROKEN_LIMIT), mark] for *numbers, kept, mark in made]
    left = len(tuning.tried) - len(rows)
    return joined(
        f"#### Flags tried with {inline(load.variant)}, measured",
        table(TUNING_HEAD, rows),
        f"{left} more sets of flags are in report.html." if left else "",
        inline(tuning_of(load), TEXT_LIMIT),
    )


def _shown(tuning: Tuning) -> list[TuningCell]:
    """The default and the chosen flags, then those with the most goodput, in the order in which they were tried."""
    ranked = sorted(
        tuning.tried,
        key=lambda tried: (tried.flags not in (tuning.default, tuning.chosen), -tried.cell.goodput.estimate),
    )
    shown = [tried.flags for tried in ranked[:MAX_TUNED]]
    return [tried for tried in tuning.tried if tried.flags in shown]


def _left_out(loads: Sequence[LoadProfile]) -> str:
    left = {load.variant: len(load.cells) - len(shown_cells(load, cold_open(load))) for load in loads}
    told = ", ".join(f"{count} of {variant}" for variant, count in left.items() if count)
    return f"More cells are in report.html: {told}." if told else ""
