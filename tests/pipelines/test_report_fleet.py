"""The fleet: accuracies and intervals over all traffic, weight memory, and what both leave out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reporting.fleet import ALPHA, Difference, combined, fleet
from pipelines.reporting.fleet_section import NOTHING, SELECTION, fleet_section
from pipelines.reporting.material import Material
from registry.gate.decision import CandidateVerdict, GateResult, SceneDecision
from registry.gate.tango import bounds
from tests.pipelines.report_material import material, with_decision
from tests.pipelines.report_settings import profile

FRACTIONS = st.floats(-1, 1)
WIDTHS = st.floats(0, 1)
PARTS = st.builds(
    lambda weight, estimate, below, above: Difference(weight, estimate, estimate - below, estimate + above),
    st.floats(0, 1),
    FRACTIONS,
    WIDTHS,
    WIDTHS,
)


def test_independent_scenes_add_their_squared_widths() -> None:
    # Lower: 0.6 * 0.05 = 0.03 and 0.4 * 0.1 = 0.04 make 0.05. Upper: 0.6 * 0.2 = 0.12 and 0.4 * 0.125 = 0.05, 0.13.
    qa, tools = Difference(0.6, -0.01, -0.06, 0.19), Difference(0.4, -0.05, -0.15, 0.075)
    found = combined([[qa], [tools]])
    assert found.estimate == pytest.approx(-0.026)
    assert (found.lower, found.upper) == pytest.approx((-0.076, 0.104))


def test_scenes_on_the_same_items_add_their_widths() -> None:
    qa, contract = Difference(0.6, 0.0, -0.05, 0.05), Difference(0.4, 0.0, -0.1, 0.1)
    found = combined([[qa, contract]])
    assert (found.lower, found.upper) == pytest.approx((-0.07, 0.07))


@given(st.lists(st.lists(PARTS, min_size=1, max_size=3), min_size=1, max_size=3))
def test_the_interval_encloses_the_estimate_and_is_no_wider_than_all_widths(groups: list[list[Difference]]) -> None:
    found = combined(groups)
    parts = [part for group in groups for part in group]
    widest = combined([parts])
    assert found.lower <= found.estimate <= found.upper
    assert widest.lower - 1e-9 <= found.lower and found.upper <= widest.upper + 1e-9
    assert combined([[part] for part in parts]).lower >= found.lower - 1e-9


@given(PARTS)
def test_one_scene_with_all_traffic_keeps_its_interval(part: Difference) -> None:
    found = combined([[replace(part, weight=1.0)]])
    assert (found.estimate, found.lower, found.upper) == pytest.approx((part.estimate, part.lower, part.upper))


def test_the_bounds_hold_their_level() -> None:
    # 60 % of the traffic on 640 items at psi 6 %, 40 % on 180 at psi 10 %; the true difference is that of the rates.
    generator, runs = np.random.default_rng(7), 1500
    rates = {640: (0.6, 0.04, 0.02), 180: (0.4, 0.07, 0.03)}
    truth = sum(weight * (gain - loss) for weight, loss, gain in rates.values())
    tables = {n: generator.multinomial(n, [loss, gain, 1 - loss - gain], runs) for n, (_, loss, gain) in rates.items()}
    below = above = 0
    for run in range(runs):
        groups = []
        for n, (weight, _, _) in rates.items():
            losses, gains = int(tables[n][run][0]), int(tables[n][run][1])
            groups.append([Difference(weight, (gains - losses) / n, *bounds(losses, gains, n, ALPHA))])
        found = combined(groups)
        below += truth < found.lower
        above += truth > found.upper
    # The standard error of such a share is 0.6 %.
    assert 0.03 < below / runs < 0.07
    assert 0.03 < above / runs < 0.07


def scenes(made: Material, shares: tuple[float, float, float] = (0.5, 0.25, 0.25), contract: str = "bf16") -> Material:
    """Scenes qa (served by fp8), tools (by awq-int4) and contract (by `contract`, measured on qa)."""
    gate = {"test": "noninferiority", "margin_pp": 16.0}
    floor = {"test": "baseline_floor", "suite": "qa", "min_accuracy": 0.1}
    found: dict[str, Any] = {
        "qa": {"candidates": ["fp8", "bf16"], "gates": [floor, gate | {"suite": "qa"}]},
        "tools": {"candidates": ["awq-int4", "bf16"], "gates": [gate | {"suite": "tools"}]},
        "contract": {"candidates": [contract], "gates": [floor]},
    }
    policy = {
        "baseline": "bf16",
        "scenes": {
            name: scene | {"traffic_share": share} for (name, scene), share in zip(found.items(), shares, strict=True)
        },
    }
    decided = [
        SceneDecision(
            scene=name,
            chosen=scene["candidates"][0],
            reason="r",
            require="none",
            candidates=[
                CandidateVerdict(candidate=candidate, outcome="PASS", reason="r", gates=[])
                for candidate in scene["candidates"]
            ],
        )
        for name, scene in found.items()
    ]
    changed = with_decision(made, made.decision.model_copy(update={"scenes": decided}))
    return replace(changed, profile=profile(policy=policy))


def sized(made: Material, sizes: dict[str, int]) -> Material:
    manifests = {
        name: manifest.model_copy(update={"weight_bytes": sizes[name]})
        for name, manifest in made.bundle.manifests.items()
    }
    return replace(made, bundle=replace(made.bundle, manifests=manifests))


def test_accuracy_and_difference_are_weighted_by_traffic() -> None:
    # Of 6 items the baseline has 5 right; each candidate loses 3 and gains 1.
    made = scenes(material())
    found = fleet(made.profile.policy, made.bundle)
    assert found is not None
    lower, upper = bounds(3, 1, 6, 0.05)
    assert [(scene.scene, scene.suite, scene.chosen) for scene in found.scenes] == [
        ("qa", "qa", "fp8"),
        ("tools", "tools", "awq-int4"),
        ("contract", "qa", "bf16"),
    ]
    assert found.baseline_accuracy == pytest.approx(5 / 6)
    assert found.chosen_accuracy == pytest.approx(0.75 * 3 / 6 + 0.25 * 5 / 6)
    assert found.difference.estimate == pytest.approx(0.75 * -2 / 6)
    step = 2 / 6
    assert found.difference.lower == pytest.approx(-0.75 * step - math.hypot(0.5, 0.25) * (-step - lower))
    assert found.difference.upper == pytest.approx(-0.75 * step + math.hypot(0.5, 0.25) * (upper + step))
    assert found.scenes[2].difference == Difference(0.25, 0.0, 0.0, 0.0)


def test_scenes_of_one_suite_are_not_taken_for_independent() -> None:
    made = scenes(material(), contract="awq-int4")
    found = fleet(made.profile.policy, made.bundle)
    assert found is not None
    lower, _ = bounds(3, 1, 6, 0.05)
    assert found.difference.lower == pytest.approx(-2 / 6 - math.hypot(0.75, 0.25) * (-2 / 6 - lower))


def test_the_counts_are_those_of_the_strict_gate_where_there_is_one() -> None:
    made = scenes(material())
    gate = GateResult(
        test="noninferiority", suite="qa", verdict="strict", outcome="PASS", reason="r", losses=1.5, gains=0.5, n=3
    )
    first = made.decision.scenes[0]
    candidates = [first.candidates[0].model_copy(update={"gates": [gate]}), *first.candidates[1:]]
    decided = [first.model_copy(update={"candidates": candidates}), *made.decision.scenes[1:]]
    changed = with_decision(made, made.decision.model_copy(update={"scenes": decided}))
    found = fleet(changed.profile.policy, changed.bundle)
    assert found is not None
    assert (found.scenes[0].difference.lower, found.scenes[0].difference.upper) == bounds(1.5, 0.5, 3, 0.05)
    assert found.scenes[0].difference.estimate == pytest.approx(-1 / 3)


def test_memory_is_saved_by_the_share_of_traffic() -> None:
    made = sized(scenes(material()), {"bf16": 1000, "fp8": 600, "awq-int4": 400})
    found = fleet(made.profile.policy, made.bundle)
    assert found is not None
    assert {variant.name: variant.share for variant in found.variants} == {"bf16": 0.25, "awq-int4": 0.25, "fp8": 0.5}
    assert found.saving == pytest.approx(1 - (0.25 * 1000 + 0.25 * 400 + 0.5 * 600) / 1000)


def test_shares_that_do_not_sum_to_one_are_divided_by_their_sum() -> None:
    made, half = (scenes(material(), shares) for shares in ((0.5, 0.25, 0.25), (0.25, 0.125, 0.125)))
    found, again = (fleet(one.profile.policy, one.bundle) for one in (made, half))
    assert found is not None and again is not None
    assert again.difference == found.difference and again.declared == 0.5
    assert "The declared shares sum to 0\\.5; each was divided by that\\." in fleet_section(half)
    assert "declared shares sum" not in fleet_section(made)


def test_no_traffic_or_nothing_judged_gives_no_figure() -> None:
    assert NOTHING in fleet_section(scenes(material(), (0.0, 0.0, 0.0)))
    made = scenes(material())
    empty = made.bundle.comparisons["fp8"].suites["qa"]
    none = empty.strict.model_copy(update=dict.fromkeys(["n", "both_right", "losses", "gains", "both_wrong"], 0))
    compared = made.bundle.comparisons["fp8"]
    suites = compared.suites | {"qa": empty.model_copy(update={"strict": none})}
    comparisons = made.bundle.comparisons | {"fp8": compared.model_copy(update={"suites": suites})}
    unjudged = replace(made, bundle=replace(made.bundle, comparisons=comparisons))
    assert fleet(unjudged.profile.policy, unjudged.bundle) is None


def test_the_section_says_what_it_rests_on() -> None:
    told = fleet_section(
        sized(scenes(material()), {"bf16": 1_000_000_000, "fp8": 600_000_000, "awq-int4": 400_000_000})
    )
    assert "| qa | 50.0 % | fp8 | qa | 83.3 % | 50.0 % | -33.33 |" in told
    assert "| contract | 25.0 % | bf16 | qa | 83.3 % | 83.3 % | 0.00 | 0.00 | 0.00 |" in told
    assert "| all traffic | 100.0 % |  |  | 83.3 % | 58.3 % | -25.00 |" in told
    assert "- qa and contract are measured on the same items of qa, so they are not independent" in told
    assert SELECTION.removesuffix(".") in told
    assert "| fp8 | 600.0 MB | 60.0 % | 50.0 % |" in told
    assert "35\\.0 % less" in told
    assert "No load profile was measured" in told and "throughput or unit cost" in told
    assert "dequantized" not in told


def test_weights_that_were_served_in_another_form_are_named() -> None:
    assert "- fp8 was served as w8a16-dequantized here" in fleet_section(scenes(material("w8a16-dequantized")))
