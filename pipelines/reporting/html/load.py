"""The section on load: sentences, tables and plots per machine and variant, nothing where no record of it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.reporting.html.load_plots import goodput_figure, points, ttft_figure
from pipelines.reporting.html.plots import Plot
from pipelines.reporting.html.tables import Table, numbers, texts
from pipelines.reporting.load_tables import (
    CELL_HEAD,
    GROUP_HEAD,
    TUNING_HEAD,
    budget_of,
    by_hardware,
    cell_row,
    group_rows,
    offered,
    saturation_of,
    traffic_of,
    tuning_of,
    tuning_row,
)
from pipelines.reporting.material import Material
from registry.load_profile import LoadProfile, Tuning
from registry.store.load_numbers import representative

MAX_ROWS = 100  # of a table
COLD = "Cold prefix cache, open loop. Bars are 95 % intervals; dashed is the budget. Times on a logarithmic axis."
SETS = (
    "Named by max-num-batched-tokens, max-num-seqs and long-prefill-token-threshold, each at its highest rate that "
    "kept the budget, or at the lowest tried where none did (in the colour of FAIL)."
)


@dataclass(frozen=True)
class VariantLoad:
    """A variant under load: what is said of it, and its tables."""

    name: str
    remarks: Sequence[str]
    tables: Sequence[Table]


@dataclass(frozen=True)
class LoadView:
    """What was measured on one machine."""

    machine: str
    remarks: Sequence[str]
    plots: Sequence[Plot]
    variants: Sequence[VariantLoad]


def load_views(material: Material) -> list[LoadView]:
    """A view per machine that load was measured on, in the order of the variants."""
    colours = {run: number for number, run in enumerate(material.profile.runs)}
    views: list[LoadView] = []
    for machine, loads in by_hardware(material.bundle.loads.values()).items():
        told = dict.fromkeys(text for load in loads for text in (traffic_of(load), budget_of(load.budget)))
        drawn = _plots(f"load-{len(views) + 1}", machine, loads, colours)
        views.append(LoadView(machine, list(told), drawn, [_variant(load, machine) for load in loads]))
    return views


def not_measured(material: Material) -> list[tuple[str, str]]:
    """(variant, why) of every variant whose record says that there is no load profile."""
    return [(variant, found.why) for variant, found in material.bundle.serving.items() if found.load is None]


def _variant(load: LoadProfile, machine: str) -> VariantLoad:
    columns = [*texts("load", "cache"), *numbers(*CELL_HEAD[1:-1]), *texts(CELL_HEAD[-1])]
    cells = [*load.cells, *load.saturation.cells]
    where = f"{load.variant}, measured on {machine}"
    tables = [Table(f"Loads of {where}", columns, [cell_row(cell) for cell in cells[:MAX_ROWS]])]
    cell = representative(load)
    if cell is not None:
        groups = [*texts(GROUP_HEAD[0]), *numbers(*GROUP_HEAD[1:])]
        tables.append(Table(f"Tails by group at {offered(cell)}, {where}", groups, group_rows(cell)[:MAX_ROWS]))
    if load.tuning is not None:
        tables.append(_tuning_table(load.tuning, where))
    return VariantLoad(load.variant, [text for text in (saturation_of(load), tuning_of(load)) if text], tables)


def _tuning_table(tuning: Tuning, where: str) -> Table:
    flags, rate, *rest, kept, mark = TUNING_HEAD
    columns = [*texts(flags), *numbers(rate, *rest), *texts(kept, mark)]
    return Table(f"Flags tried with {where}", columns, [tuning_row(one, tuning) for one in tuning.tried[:MAX_ROWS]])


def _plots(name: str, machine: str, loads: Sequence[LoadProfile], colours: dict[str, int]) -> list[Plot]:
    found: list[Plot] = []
    for budget_ms in dict.fromkeys(load.budget.ttft_ms for load in loads):
        series = {
            load.variant: (colours.get(load.variant, 0), points(load))
            for load in loads
            if load.budget.ttft_ms == budget_ms and points(load)
        }
        if series:
            title = f"Tail of the time to first token, measured on {machine}"
            found.append(Plot(title, ttft_figure(f"{name}-{len(found) + 1}", title, series, budget_ms), note=COLD))
    for load in loads:
        if load.tuning is not None and load.tuning.tried:
            title = f"Goodput of the flags tried with {load.variant}, measured on {machine}"
            found.append(Plot(title, goodput_figure(f"{name}-{len(found) + 1}", title, load.tuning), note=SETS))
    return found
