"""Throughput and unit cost as rows and sentences of plain text, for both reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.reporting.load_tables import by_hardware, hardware_of, offered, spread
from pipelines.reporting.material import Material
from pipelines.reporting.unit_cost import (
    Disagreement,
    Step,
    VariantCost,
    cost_at_saturation,
    disagreements,
    is_dequantized,
    steps,
    variant_costs,
)
from registry.gate.decision import Decision
from registry.load_profile import Interval

UNIT_COST = "calculated unit cost, baseline = 1"
COST_HEAD = ["variant", "load", "requests/s", "output tok/s", UNIT_COST]
STEP_HEAD = ["step", UNIT_COST]
BASIS = (
    "Calculated from the throughputs measured at the highest rate that was tried and kept the budget; the true limit "
    "lies between that rate and the next one tried. Bounds are the extremes that both intervals allow."
)
MIX = "Each scene is counted at the cost of the load test's whole mix of requests, and replicas follow the traffic."
NOT_CALCULATED = "not calculated"


@dataclass(frozen=True)
class CostTable:
    """A caption that names the hardware, a head, rows of plain text, and what to keep in mind."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str]


def cost_tables(material: Material) -> list[CostTable]:
    """Unit cost per variant, one table per machine, and per step of the fleet; empty where no load was measured."""
    costs = variant_costs(material.bundle)
    if not costs:
        return []
    decision, policy = material.decision, material.profile.policy
    found = []
    for machine, loads in by_hardware(cost.load for cost in costs.values()).items():
        group = [costs[load.variant] for load in loads]
        caption = f"Throughput within the budget, measured on {machine}, and the unit cost that follows"
        remarks = [*cost_remarks(group), *saturation_remarks(group, costs.get(decision.baseline))]
        found.append(CostTable(caption, [*COST_HEAD, *_money_head(group)], cost_rows(group), remarks))
    made = steps(policy, decision, costs)
    if made:
        base = costs.get(decision.baseline)
        where = f", from what was measured on {hardware_of(base.load.hardware)}" if base else ""
        remarks = [*step_remarks(made, decision, costs), *map(warning, disagreements(policy, decision, costs))]
        head = [*STEP_HEAD, *_money_head([base] if base else [])]
        rows = step_rows(made, decision.baseline, priced=len(head) > len(STEP_HEAD))
        found.append(CostTable(f"Unit cost of all traffic, step by step{where}", head, rows, remarks))
    return found


def cost_rows(costs: Sequence[VariantCost]) -> list[list[str]]:
    """A row per variant under `COST_HEAD`, with a price at the end where any has one."""
    priced = bool(_money_head(costs))
    return [
        [
            cost.variant,
            offered(cost.cell) if cost.cell else "none kept",
            spread(cost.cell.requests_s) if cost.cell else "",
            spread(cost.cell.output_tok_s) if cost.cell else "",
            _told(cost.relative, "left out"),
            *([_told(cost.per_million, "left out")] if priced else []),
        ]
        for cost in costs
    ]


def cost_remarks(costs: Sequence[VariantCost]) -> list[str]:
    """What the costs rest on, and why a variant is left out of them."""
    remarks = [BASIS]
    for cost in costs:
        if cost.dequantized:
            remarks.append(
                f"{cost.variant} was {cost.why} here, so its speed on this machine is that of unquantized weights by "
                "construction: it is left out of cost."
            )
        elif cost.relative is None:
            remarks.append(f"{cost.variant} has no unit cost beside the baseline's: {cost.why}.")
    return remarks


def saturation_remarks(costs: Sequence[VariantCost], baseline: VariantCost | None) -> list[str]:
    """What each variant costs beside the baseline where both are saturated, within the budget or not."""
    if baseline is None:
        return []
    found = {cost.variant: cost_at_saturation(cost.load, baseline.load) for cost in costs}
    return [
        f"At saturation, whatever the budget, {variant} costs {spread(times)} times what {baseline.variant} does per "
        "output token."
        for variant, times in found.items()
        if times is not None
    ]


def step_rows(made: Sequence[Step], baseline: str, priced: bool) -> list[list[str]]:
    """A row per step under `STEP_HEAD`, with a price at the end where `priced`."""
    return [
        [
            _step_name(step, baseline),
            _told(step.relative, NOT_CALCULATED),
            *([_told(step.per_million, NOT_CALCULATED)] if priced else []),
        ]
        for step in made
    ]


def step_remarks(made: Sequence[Step], decision: Decision, costs: Mapping[str, VariantCost]) -> list[str]:
    """How the traffic is counted, and what stands in for a variant without a unit cost."""
    remarks = [MIX]
    for name in dict.fromkeys(step.chosen for step in made if step.scene):
        if is_dequantized(name, decision):
            remarks.append(
                f"{name} was served as {decision.executions[name].note} here, where its speed is that of unquantized "
                "weights by construction: it is left out, its traffic counted at the baseline's cost."
            )
        elif name not in costs:
            remarks.append(f"{name} was not measured under load, so no step that needs it is calculated.")
    return remarks


def warning(found: Disagreement) -> str:
    """A sentence on candidates whose measured order of cost is not the declared one. They keep their order."""
    first, second = found.first, found.second
    how = "their intervals do not overlap" if found.clear else "their intervals overlap, so this may be noise"
    return (
        f"Warning: for {found.scene} the policy declares {first.variant} as cheaper than {second.variant}; measured, "
        f"its unit cost is {_times(first)} times the baseline's against {_times(second)} ({how}). The declared order "
        "stands."
    )


def _step_name(step: Step, baseline: str) -> str:
    if not step.scene:
        return f"all {step.chosen}"
    return f"{step.scene} {'stays on' if step.chosen == baseline else 'moves to'} {step.chosen}"


def _money_head(costs: Sequence[VariantCost]) -> list[str]:
    currencies = dict.fromkeys(cost.load.currency for cost in costs if cost.per_million is not None)
    named = " or ".join(filter(None, currencies)) or "at the declared price"
    return [f"calculated for a million output tokens, {named}"] if currencies else []


def _told(value: Interval | None, otherwise: str) -> str:
    return spread(value) if value else otherwise


def _times(cost: VariantCost) -> str:
    return f"{cost.relative.estimate:.2f}" if cost.relative else NOT_CALCULATED
