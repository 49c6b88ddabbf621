"""Unit cost and the fleet's weight memory: exact examples, inverse relations, and a table per basis."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import InputError
from pipelines.serving.capacity_text import Prices, cost_tables, fleet_table
from pipelines.serving.cost import (
    BASES,
    Throughput,
    fleet_mean,
    traffic_by_variant,
    unit_cost,
    unit_cost_change,
    weight_memory_saving,
)

WEIGHTS = {"bf16": 65_527_752_704, "fp8": 34_331_437_056, "awq-int4": 19_328_812_032}
SHARES = {"awq-int4": 0.61, "fp8": 0.35, "bf16": 0.04}


@pytest.mark.parametrize(
    ("price", "rate", "load", "wanted"),
    [(3.6, 1000, 1.0, 1.0), (3.6, 1000, 0.5, 2.0), (7.2, 1000, 1.0, 2.0), (0, 5, 1.0, 0.0), (36, 2000, 0.25, 20.0)],
)
def test_price_of_a_million_tokens(price: float, rate: float, load: float, wanted: float) -> None:
    assert unit_cost(price, rate, load) == pytest.approx(wanted)


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e6), st.floats(0.01, 1))
def test_the_tokens_of_an_hour_cost_its_price(price: float, rate: float, load: float) -> None:
    assert unit_cost(price, rate, load) * rate * load * 3600 / 1e6 == pytest.approx(price)


@given(st.floats(1, 1e5), st.floats(1, 1e5), st.floats(0.1, 100))
def test_the_change_is_that_of_the_unit_costs(before: float, after: float, price: float) -> None:
    wanted = unit_cost(price, after) / unit_cost(price, before) - 1
    assert unit_cost_change(before, after) == pytest.approx(wanted, abs=1e-9)


def test_the_fleets_saving_to_the_digit() -> None:
    assert f"{100 * weight_memory_saving(SHARES, WEIGHTS, 'bf16'):.1f}" == "59.7"
    assert weight_memory_saving({"bf16": 1.0}, WEIGHTS, "bf16") == 0
    assert weight_memory_saving({"fp8": 0.2}, WEIGHTS, "bf16") == pytest.approx(1 - 34_331_437_056 / 65_527_752_704)


@given(st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.floats(0.01, 1), min_size=1))
def test_a_mean_lies_between_its_values_whatever_the_shares_sum_to(shares: dict[str, float]) -> None:
    sizes = [WEIGHTS[name] for name in shares]
    found = fleet_mean(shares, WEIGHTS)
    assert min(sizes) * (1 - 1e-9) <= found <= max(sizes) * (1 + 1e-9)
    assert found == pytest.approx(fleet_mean({name: 3 * share for name, share in shares.items()}, WEIGHTS))


def test_scenes_served_alike_count_together() -> None:
    traffic = {"qa": 0.61, "tools": 0.35, "contract": 0.04}
    serves = {"qa": "fp8", "tools": "fp8", "contract": "bf16"}
    found = traffic_by_variant(traffic, serves)
    assert found.keys() == {"fp8", "bf16"}
    assert found["fp8"] == pytest.approx(0.96)


@pytest.mark.parametrize("shares", [{}, {"bf16": 0.0}, {"bf16": 1.0, "fp8": -0.5}, {"int3": 1.0}])
def test_shares_that_make_no_mean_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(InputError, match="give"):
        fleet_mean(shares, WEIGHTS)


@pytest.mark.parametrize("price", [-1.0, math.nan, math.inf])
def test_a_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(InputError, match="price"):
        unit_cost(price, 100)


@pytest.mark.parametrize("load", [0.0, 1.5, math.nan])
def test_a_load_that_is_no_share_is_refused(load: float) -> None:
    with pytest.raises(InputError, match="load"):
        unit_cost(1, 100, load)


@pytest.mark.parametrize("rate", [0.0, -5.0, math.nan, math.inf])
def test_a_throughput_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(InputError, match="throughput"):
        Throughput(rate, "measured", "A100 80G")


def test_costs_of_two_bases_never_share_a_table() -> None:
    rates = {
        "bf16": Throughput(240, "measured", "A100 80G"),
        "fp8": Throughput(600, "assumed", "A100 80G"),
        "awq-int4": Throughput(900, "measured", "A100 80G"),
    }
    found = cost_tables(Prices(10, "yuan", 1.0, "output"), rates, {"bf16": 0.5, "awq-int4": 0.5})
    bases = [sorted({basis for basis in BASES if f"({basis})" in table}) for table in found]
    assert bases == [["measured"], ["assumed"]]
    assert "| bf16 | A100 80G | 240.0 | 11.57 |" in found[0]
    assert "fp8" not in found[0]
    # The mean of both costs, since all that serve were measured; of the assumed one alone there is none.
    assert re.search(r"\| fleet, by traffic \|  \|  \| 7\.33 \|", found[0])
    assert "fleet" not in found[1]


def test_the_fleets_table_shows_shares_and_saving() -> None:
    lines = fleet_table(WEIGHTS, SHARES, "bf16").splitlines()
    assert "| fp8 | 35.0 % | 34.33 |  |" in lines
    assert lines[-1] == "| fleet, by traffic |  | 26.43 | 59.7 % |"
