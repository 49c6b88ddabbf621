"""What a token costs on each variant, and over all traffic as scene after scene moves to its chosen variant.

Costs are calculated from measured throughputs, at an equal price for the hardware: reported, never gated. Bounds are
the extremes that the intervals of both throughputs allow, which no correlation between them can exceed; sums add them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.reporting.load_tables import hardware_of
from pipelines.serving.cost import fleet_mean, traffic_by_variant, unit_cost
from registry.gate.decision import Decision
from registry.gate.policy import Policy
from registry.load_profile import Cell, Interval, LoadProfile
from registry.store.bundle import Bundle
from registry.store.load_numbers import saturated

DEQUANTIZED = "dequantized"  # in an execution class's note
ONE = Interval(estimate=1, lower=1, upper=1)
NONE_WITHIN = "no load that was tried kept the budget"
NO_BASELINE = "the baseline has no load within the budget to compare it with"
MUST_BE_EQUAL = ("engine_version", "flags", "trace_sha256", "budget", "price_per_hour", "currency")


@dataclass(frozen=True)
class VariantCost:
    """A variant's throughput within the budget, and what an output token costs.

    `relative` is a multiple of the baseline's cost, `per_million` the price of a million output tokens in the load
    profile's currency. `why` says why `relative` is None. `dequantized` variants have none by rule: they run at the
    baseline's speed by construction.
    """

    load: LoadProfile
    cell: Cell | None
    relative: Interval | None
    per_million: Interval | None
    why: str = ""
    dequantized: bool = False

    @property
    def variant(self) -> str:
        return self.load.variant


@dataclass(frozen=True)
class Step:
    """One more scene served by its chosen variant: the cost of all traffic then, None where it cannot be calculated."""

    scene: str
    chosen: str
    relative: Interval | None
    per_million: Interval | None


@dataclass(frozen=True)
class Disagreement:
    """In a scene the policy declares `first` as cheaper than `second`, and the measured unit costs say the reverse.

    `clear` where the intervals of the two throughputs do not overlap.
    """

    scene: str
    first: VariantCost
    second: VariantCost
    clear: bool


def variant_costs(bundle: Bundle) -> dict[str, VariantCost]:
    """The cost of every variant that has a load profile, in the decision's order."""
    baseline = bundle.loads.get(bundle.decision.baseline)
    return {variant: _cost(load, baseline) for variant, load in bundle.loads.items()}


def steps(policy: Policy, decision: Decision, costs: Mapping[str, VariantCost]) -> list[Step]:
    """From the baseline for everything to each scene's chosen variant in turn, in the policy's order.

    The first has no scene. Traffic of a dequantized variant is counted at the baseline's cost. Empty where the policy
    declares no traffic.
    """
    traffic = {scene.scene: policy.scenes[scene.scene].traffic_share for scene in decision.scenes}
    if not sum(traffic.values()) > 0:
        return []
    serves = dict.fromkeys(traffic, decision.baseline)
    counted = {name: decision.baseline if is_dequantized(name, decision) else name for name in decision.weights}
    found = [_step("", decision.baseline, traffic_by_variant(traffic, serves), costs)]
    for scene in decision.scenes:
        serves[scene.scene] = counted.get(scene.chosen, scene.chosen)
        found.append(_step(scene.scene, scene.chosen, traffic_by_variant(traffic, serves), costs))
    return found


def is_dequantized(variant: str, decision: Decision) -> bool:
    """Whether a variant was served with its weights dequantized, so that its speed is that of unquantized ones."""
    execution = decision.executions.get(variant)
    return execution is not None and DEQUANTIZED in execution.note


def disagreements(policy: Policy, decision: Decision, costs: Mapping[str, VariantCost]) -> list[Disagreement]:
    """Where a scene's candidates, in their declared order of cost, are in another order by the measured unit cost."""
    found = []
    for scene in decision.scenes:
        measured = [costs[name] for name in policy.scenes[scene.scene].candidates if _is_measured(name, costs)]
        for first, second in itertools.combinations(measured, 2):
            if first.relative and second.relative and first.relative.estimate > second.relative.estimate:
                clear = _throughput(second).lower > _throughput(first).upper
                found.append(Disagreement(scene.scene, first, second, clear))
    return found


def cost_at_saturation(load: LoadProfile, baseline: LoadProfile) -> Interval | None:
    """The unit cost at saturation, whatever the budget, as a multiple of the baseline's; None where not comparable."""
    before, after = saturated(baseline), saturated(load)
    comparable = load is not baseline and DEQUANTIZED not in load.execution.note and not _unequal(load, baseline)
    if not comparable or before is None or after is None or not after.output_tok_s.lower > 0:
        return None
    return _ratio(before.output_tok_s, after.output_tok_s)


def _unequal(load: LoadProfile, baseline: LoadProfile) -> list[str]:
    names = [name for name in MUST_BE_EQUAL if getattr(load, name) != getattr(baseline, name)]
    # By its name: the same machine may count a few bytes of memory more or less after it was started again.
    return names + ["hardware"] * (hardware_of(load.hardware) != hardware_of(baseline.hardware))


def _cost(load: LoadProfile, baseline: LoadProfile | None) -> VariantCost:
    cell = load.within_budget()
    if DEQUANTIZED in load.execution.note:
        return VariantCost(load, cell, None, None, f"served as {load.execution.note}", dequantized=True)
    if cell is None or not cell.output_tok_s.lower > 0:
        return VariantCost(load, None, None, None, NONE_WITHIN)
    priced = _per_million(load.price_per_hour, cell.output_tok_s) if load.price_per_hour is not None else None
    reference = baseline.within_budget() if baseline else None
    if baseline is None or reference is None:
        return VariantCost(load, cell, None, priced, NO_BASELINE)
    if unequal := _unequal(load, baseline):
        return VariantCost(load, cell, None, priced, f"measured otherwise than the baseline: {', '.join(unequal)}")
    relative = ONE if load is baseline else _ratio(reference.output_tok_s, cell.output_tok_s)
    return VariantCost(load, cell, relative, priced)


def _step(scene: str, chosen: str, shares: Mapping[str, float], costs: Mapping[str, VariantCost]) -> Step:
    known = {name: costs.get(name) for name, share in shares.items() if share > 0}
    relative = {name: cost.relative if cost else None for name, cost in known.items()}
    priced = {name: cost.per_million if cost else None for name, cost in known.items()}
    return Step(scene, chosen, _mean(shares, relative), _mean(shares, priced))


def _mean(shares: Mapping[str, float], values: Mapping[str, Interval | None]) -> Interval | None:
    there = {name: value for name, value in values.items() if value is not None}
    if len(there) < len(values):
        return None
    weights = {name: shares[name] for name in there}
    estimate, lower, upper = (
        fleet_mean(weights, {name: getattr(value, part) for name, value in there.items()})
        for part in ("estimate", "lower", "upper")
    )
    return Interval(estimate=estimate, lower=lower, upper=upper)


def _ratio(before: Interval, after: Interval) -> Interval:
    """The unit cost at `after` as a multiple of that at `before`, both throughputs above 0."""
    return Interval(
        estimate=before.estimate / after.estimate,
        lower=before.lower / after.upper,
        upper=before.upper / after.lower,
    )


def _per_million(price_per_hour: float, tokens_s: Interval) -> Interval:
    return Interval(
        estimate=unit_cost(price_per_hour, tokens_s.estimate),
        lower=unit_cost(price_per_hour, tokens_s.upper),
        upper=unit_cost(price_per_hour, tokens_s.lower),
    )


def _is_measured(name: str, costs: Mapping[str, VariantCost]) -> bool:
    return name in costs and costs[name].relative is not None


def _throughput(cost: VariantCost) -> Interval:
    return cost.cell.output_tok_s if cost.cell else ONE
