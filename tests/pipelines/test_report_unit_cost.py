"""Unit cost from measured throughput: per variant, over all traffic step by step, and against the declared order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reporting.cost_tables import CostTable, cost_tables
from pipelines.reporting.fleet_section import NO_LOAD, NOTHING, fleet_section
from pipelines.reporting.material import Material
from pipelines.reporting.unit_cost import (
    NO_BASELINE,
    NONE_WITHIN,
    Step,
    cost_at_saturation,
    disagreements,
    steps,
    variant_costs,
)
from registry.gate.decision import CandidateVerdict, SceneDecision
from registry.load_profile import Interval
from tests.pipelines.report_load import FACTORS, loads, with_load
from tests.pipelines.report_material import material, with_decision
from tests.pipelines.report_settings import profile
from tests.registry.load_records import MACHINE, cell, interval, unmeasured

SERVED = {"qa": "awq-int4", "tools": "fp8", "contract": "bf16"}
SHARES = {"qa": 0.5, "tools": 0.25, "contract": 0.25}
DEQUANTIZED = "w8a16-dequantized"


def scenes(made: Material, shares: dict[str, float] | None = None) -> Material:
    """Scene qa is served by awq-int4, tools by fp8, contract by bf16; candidates are declared cheapest first."""
    gate = {"test": "baseline_floor", "suite": "qa", "min_accuracy": 0.1}
    candidates = {"qa": ["awq-int4", "fp8", "bf16"], "tools": ["fp8", "bf16"], "contract": ["bf16"]}
    rules: dict[str, Any] = {
        name: {"traffic_share": (shares or SHARES)[name], "candidates": names, "gates": [gate]}
        for name, names in candidates.items()
    }
    decided = [
        SceneDecision(
            scene=name,
            chosen=SERVED[name],
            reason="r",
            require="none",
            candidates=[CandidateVerdict(candidate=one, outcome="PASS", reason="r", gates=[]) for one in names],
        )
        for name, names in candidates.items()
    ]
    changed = with_decision(made, made.decision.model_copy(update={"scenes": decided}))
    return replace(changed, profile=profile(policy={"baseline": "bf16", "scenes": rules}))


def dequantized(made: Material, variant: str = "fp8") -> Material:
    """The same run with a variant whose weights were dequantized for serving."""
    execution = made.decision.executions[variant].model_copy(update={"note": DEQUANTIZED})
    executions = made.decision.executions | {variant: execution}
    return with_decision(made, made.decision.model_copy(update={"executions": executions}))


def measured(factors: dict[str, float], made: Material | None = None, **changes: Any) -> Material:
    found = made or scenes(material())
    return with_load(found, loads(found, factors, **changes))


def made_steps(found: Material) -> list[Step]:
    return steps(found.profile.policy, found.decision, variant_costs(found.bundle))


def remarks(found: Material) -> str:
    return " ".join(remark for table in cost_tables(found) for remark in table.remarks)


def test_cost_is_the_inverse_of_throughput_and_bounds_are_the_extremes() -> None:
    costs = variant_costs(measured({"bf16": 1, "awq-int4": 2}).bundle)
    # At 2 requests per second: 100 tokens per second (90 to 110) against 200 (180 to 220).
    assert costs["bf16"].relative == Interval(estimate=1, lower=1, upper=1)
    found = costs["awq-int4"].relative
    assert found is not None
    assert (found.estimate, found.lower, found.upper) == pytest.approx((0.5, 90 / 220, 110 / 180))
    assert costs["awq-int4"].per_million is None


def test_a_price_gives_money_per_million_output_tokens() -> None:
    costs = variant_costs(measured(FACTORS, price_per_hour=3.6, currency="元").bundle)
    found = costs["bf16"].per_million
    assert found is not None
    assert (found.estimate, found.lower, found.upper) == pytest.approx((10, 10 / 1.1, 10 / 0.9))
    assert cost_tables(measured(FACTORS, price_per_hour=3.6, currency="元"))[0].head[-1].endswith("tokens, 元")


WITHOUT: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("none within the budget", {}, {"cells": [cell(1.0, 5000)]}, NONE_WITHIN),
    ("no throughput", {}, {"cells": [cell(1.0, output_tok_s=interval(0))]}, NONE_WITHIN),
    ("no baseline within it", {"cells": [cell(1.0, 5000)]}, {}, NO_BASELINE),
    ("another machine", {}, {"hardware": MACHINE.model_copy(update={"cores": 4})}, "than the baseline: hardware"),
    ("other traffic", {}, {"trace_sha256": "0" * 64}, "than the baseline: trace_sha256"),
]


@pytest.mark.parametrize(("base", "other", "why"), [row[1:] for row in WITHOUT], ids=[row[0] for row in WITHOUT])
def test_what_does_not_compare_has_no_unit_cost_and_says_why(
    base: dict[str, Any], other: dict[str, Any], why: str
) -> None:
    made = scenes(material())
    found = {**loads(made, {"bf16": 1}, **base), **loads(made, {"awq-int4": 1}, **other)}
    cost = variant_costs(with_load(made, found).bundle)["awq-int4"]
    assert cost.relative is None and why in cost.why
    assert f"awq-int4 has no unit cost beside the baseline's: {cost.why}." in remarks(with_load(made, found))


def test_a_few_bytes_of_memory_make_no_other_machine() -> None:
    made = scenes(material())
    other = MACHINE.model_copy(update={"memory_bytes": MACHINE.memory_bytes + 4096})
    found = {**loads(made, {"bf16": 1}), **loads(made, {"awq-int4": 2}, hardware=other)}
    assert variant_costs(with_load(made, found).bundle)["awq-int4"].relative is not None


def test_a_dequantized_variant_is_left_out_and_its_traffic_counted_as_the_baselines() -> None:
    found = measured({"bf16": 1, "awq-int4": 2, "fp8": 3}, dequantized(scenes(material())))
    cost = variant_costs(found.bundle)["fp8"]
    assert (cost.relative, cost.per_million, cost.dequantized) == (None, None, True)
    assert f"fp8 was served as {DEQUANTIZED} here, so its speed on this machine is that of unquantized" in remarks(
        found
    )
    assert [step.relative.estimate if step.relative else None for step in made_steps(found)] == [1, 0.75, 0.75, 0.75]
    unmeasured_too = measured({"bf16": 1, "awq-int4": 2}, dequantized(scenes(material())))
    assert made_steps(unmeasured_too) == made_steps(found)
    assert "its traffic counted at the baseline's cost" in remarks(unmeasured_too)


def test_scene_after_scene_moves_and_the_traffic_weighs_it() -> None:
    found = made_steps(measured({"bf16": 1, "awq-int4": 2, "fp8": 1.25}, price_per_hour=3.6))
    assert [(step.scene, step.chosen) for step in found] == [("", "bf16"), *SERVED.items()]
    ratios = [step.relative for step in found]
    assert all(ratio is not None for ratio in ratios)
    assert [ratio.estimate for ratio in ratios if ratio] == pytest.approx([1, 0.75, 0.7, 0.7])
    last = ratios[-1]
    assert last is not None
    assert last.lower == pytest.approx(0.5 * 90 / 220 + 0.25 * 90 / 137.5 + 0.25)
    assert last.upper == pytest.approx(0.5 * 110 / 180 + 0.25 * 110 / 112.5 + 0.25)
    assert [step.per_million.estimate for step in found if step.per_million] == pytest.approx([10, 7.5, 7, 7])


def test_from_a_variant_without_a_profile_on_nothing_is_calculated() -> None:
    found = measured({"bf16": 1, "awq-int4": 2})
    assert [step.relative is None for step in made_steps(found)] == [False, False, True, True]
    assert "fp8 was not measured under load, so no step that needs it is calculated." in remarks(found)
    rows = cost_tables(found)[-1].rows
    assert [row[0] for row in rows] == [
        "all bf16",
        "qa moves to awq-int4",
        "tools moves to fp8",
        "contract stays on bf16",
    ]
    assert [row[1] for row in rows][2:] == ["not calculated", "not calculated"]


def test_no_declared_traffic_gives_no_steps() -> None:
    made = scenes(material(), dict.fromkeys(SHARES, 0.0))
    found = measured(FACTORS, made)
    assert made_steps(found) == []
    assert [table.caption.partition(",")[0] for table in cost_tables(found)] == ["Throughput within the budget"]


MADE = measured({"bf16": 1, "awq-int4": 1, "fp8": 1})
COSTS = variant_costs(MADE.bundle)
RATIO = st.lists(st.floats(0.1, 10), min_size=3, max_size=3).map(sorted)


@given(RATIO, RATIO)
def test_the_cost_of_all_traffic_lies_between_those_of_the_variants(awq: list[float], fp8: list[float]) -> None:
    drawn: dict[str, list[float]] = {"bf16": [1.0, 1.0, 1.0], "awq-int4": awq, "fp8": fp8}
    ratios = {name: Interval(lower=low, estimate=middle, upper=high) for name, (low, middle, high) in drawn.items()}
    costs = {name: replace(COSTS[name], relative=ratio) for name, ratio in ratios.items()}
    for step in steps(MADE.profile.policy, MADE.decision, costs):
        assert step.relative is not None
        assert step.relative.lower <= step.relative.estimate + 1e-9 <= step.relative.upper + 2e-9
        for part in ("lower", "estimate", "upper"):
            values = [getattr(ratio, part) for ratio in ratios.values()]
            assert min(values) - 1e-9 <= getattr(step.relative, part) <= max(values) + 1e-9


ORDERS: list[tuple[dict[str, float], list[tuple[str, str, bool]]]] = [
    ({"bf16": 1, "awq-int4": 2, "fp8": 1.5}, []),
    ({"bf16": 1, "awq-int4": 1, "fp8": 1}, []),
    ({"bf16": 1, "awq-int4": 0.5, "fp8": 1}, [("awq-int4", "fp8", True), ("awq-int4", "bf16", True)]),
    ({"bf16": 1, "awq-int4": 0.95}, [("awq-int4", "bf16", False)]),
    ({"awq-int4": 0.5, "fp8": 1}, []),
]


@pytest.mark.parametrize(("factors", "pairs"), ORDERS)
def test_a_measured_order_that_disagrees_is_a_warning(
    factors: dict[str, float], pairs: list[tuple[str, str, bool]]
) -> None:
    found = measured(factors)
    disagreeing = disagreements(found.profile.policy, found.decision, variant_costs(found.bundle))
    assert [(one.first.variant, one.second.variant, one.clear) for one in disagreeing if one.scene == "qa"] == pairs
    assert remarks(found).count("Warning: for qa the policy declares") == len(pairs)


def test_a_warning_says_both_costs_and_changes_no_choice() -> None:
    found = measured({"bf16": 1, "awq-int4": 0.5, "fp8": 1})
    assert (
        "Warning: for qa the policy declares awq-int4 as cheaper than fp8; measured, its unit cost is 2.00 times the "
        "baseline's against 1.00 (their intervals do not overlap). The declared order stands."
    ) in remarks(found)
    assert [scene.chosen for scene in found.decision.scenes] == list(SERVED.values())
    noise = measured({"bf16": 1, "awq-int4": 0.95})
    assert "(their intervals overlap, so this may be noise)" in remarks(noise)


def test_machines_do_not_share_a_table() -> None:
    made = scenes(material())
    other = MACHINE.model_copy(update={"processor": "another chip", "accelerator": "card"})
    found = with_load(made, {**loads(made, {"bf16": 1}), **loads(made, {"awq-int4": 1}, hardware=other)})
    first, second, _ = cost_tables(found)
    assert "measured on test chip, 2 cores, 24.0 GB of memory, no accelerator" in first.caption
    assert "measured on another chip, 2 cores, 24.0 GB of memory, card" in second.caption
    assert ([row[0] for row in first.rows], [row[0] for row in second.rows]) == (["bf16"], ["awq-int4"])


def test_the_fleet_section_holds_the_tables_and_says_nothing_where_nothing_was_measured() -> None:
    told = fleet_section(measured({"bf16": 1, "awq-int4": 2}))
    assert "| awq-int4 | 2/s | 2.00 (1.90 to 2.10) | 200 (180 to 220) | 0.50 (0.41 to 0.61) |" in told
    assert "| qa moves to awq-int4 | 0.75 (0.70 to 0.81) |" in told
    assert NO_LOAD not in told
    assert NO_LOAD in fleet_section(with_load(scenes(material()), {"bf16": unmeasured("bf16")}))
    idle = scenes(material(), dict.fromkeys(SHARES, 0.0))
    assert NOTHING in fleet_section(idle) and NO_LOAD in fleet_section(idle)
    assert NOTHING in fleet_section(measured(FACTORS, idle)) and "| bf16 | 2/s |" in fleet_section(
        measured(FACTORS, idle)
    )


def test_every_row_is_as_wide_as_its_head() -> None:
    tables: list[CostTable] = cost_tables(measured({"bf16": 1, "awq-int4": 2}, price_per_hour=1.0))
    assert len(tables) == 2
    assert all(len(row) == len(table.head) for table in tables for row in table.rows)


def test_saturation_gives_a_cost_where_no_load_kept_the_budget() -> None:
    made = measured({"bf16": 1.0, "awq-int4": 0.5})
    serving = dict(made.bundle.serving)
    load = serving["awq-int4"].load
    assert load is not None
    broken = [one.model_copy(update={"kept": False, "broke": ["TTFT"]}) for one in load.cells]
    serving["awq-int4"] = serving["awq-int4"].model_copy(update={"load": load.model_copy(update={"cells": broken})})
    made = replace(made, bundle=replace(made.bundle, serving=serving))
    costs = variant_costs(made.bundle)
    assert costs["awq-int4"].relative is None
    found = cost_at_saturation(costs["awq-int4"].load, costs["bf16"].load)
    assert found is not None
    assert found.estimate == pytest.approx(2)
    assert found.lower < 2 < found.upper
    said = [line for table in cost_tables(made) for line in table.remarks if "At saturation" in line]
    assert len(said) == 1
    assert said[0].startswith("At saturation, whatever the budget, awq-int4 costs 2.00")


def test_nothing_is_said_of_saturation_for_the_baseline_or_other_flags() -> None:
    costs = variant_costs(measured({"bf16": 1.0, "awq-int4": 0.5}).bundle)
    base, other = costs["bf16"].load, costs["awq-int4"].load
    assert cost_at_saturation(base, base) is None
    flags = other.flags.model_copy(update={"max_num_seqs": other.flags.max_num_seqs + 1})
    assert cost_at_saturation(other.model_copy(update={"flags": flags}), base) is None
