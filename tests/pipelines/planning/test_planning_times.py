"""The order of magnitude of each stage: the arithmetic by hand, and what makes it longer or shorter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.planning.assemble import make_plan
from pipelines.planning.material import Material
from pipelines.planning.records import Plan
from pipelines.planning.times import stage_times
from tests.pipelines.planning.planning_material import BASE, accepted, material

LINEAR, PEAK = 31_205_621_760, 312e12


def times(changed: Material) -> dict[str, int]:
    plan: Plan = make_plan(changed, accepted)
    return {one.stage: one.seconds for one in plan.times}


def test_every_stage_that_takes_a_card_or_a_link_is_there() -> None:
    assert list(times(material())) == [
        "fetch",
        "quantize@awq-int4",
        "quantize@fp8",
        "generate@bf16",
        "generate@awq-int4",
        "generate@fp8",
        "generate@baseline-again",
        "load@bf16",
        "load@awq-int4",
        "load@fp8",
    ]


def test_the_arithmetic_by_hand() -> None:
    found = times(material())
    assert found["fetch"] == round(BASE / 125e6)
    # Two operations per weight, 256 x 512 tokens, once and at 20 points of the grid with and without duo scaling.
    search = 2 * LINEAR * 256 * 512 * 41 / (0.5 * PEAK)
    assert found["quantize@awq-int4"] == pytest.approx(search + (BASE + 19.33e9) / 1e9, abs=1)
    assert found["quantize@fp8"] == pytest.approx((BASE + 34.33e9) / 1e9, abs=1)


def test_load_lasts_as_long_as_its_rates_say() -> None:
    profile = material().profile
    assert profile.load is not None
    settings = profile.load
    middle = settings.rates[len(settings.rates) // 2]
    untuned = profile.model_copy(update={"load": settings.model_copy(update={"tuning": None})})
    wanted = settings.repeats * (sum(settings.requests / rate for rate in settings.rates) + settings.requests / middle)
    assert times(replace(material(), profile=untuned))["load@bf16"] == pytest.approx(wanted, abs=1)


def test_two_cards_are_quicker_and_no_card_has_no_times() -> None:
    setting = material().setting
    assert setting is not None
    plan = make_plan(material(), accepted)
    one, two = times(material()), times(replace(material(), setting=replace(setting, tp=2)))
    assert two["generate@bf16"] < one["generate@bf16"]
    assert two["fetch"] == one["fetch"]
    unknown = replace(setting, card=replace(setting.card, peak_flops=0.0))
    assert times(replace(material(), setting=unknown)) == {}
    assert stage_times(replace(material(), setting=None), plan.disk, plan.rooms, plan.asked, plan.load) == []
