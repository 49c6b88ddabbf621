"""The plots of load: marks stand where the numbers say, and every time has a place on the axis."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reporting.html.load_plots import LEAST_MS, Point, goodput_figure, log_ticks, points, ttft_figure
from pipelines.reporting.html.svg import scale
from registry.load_profile import TuningCell
from tests.registry.load_records import DEFAULT, cell, interval, load_profile, tuning

NASTY = st.text(alphabet="<>&\"' a中\x00\ud800\n", min_size=1, max_size=80)
SERIES = {
    "bf16": (0, [Point(1.0, interval(200), 0.95), Point(4.0, interval(8000), 0.99)]),
    "fp8": (2, [Point(1.0, interval(100), 0.95)]),
}


def of_class(drawing: str, name: str) -> list[ET.Element]:
    return [element for element in ET.fromstring(drawing).iter() if name in element.get("class", "").split()]


def at(element: ET.Element, name: str) -> float:
    return float(element.get(name, ""))


def test_points_are_the_cold_open_loop_by_rate() -> None:
    silent = cell(3.0).model_copy(update={"latency": {}})
    load = load_profile("bf16", "a" * 64, cells=[cell(2.0, 400), cell(1.0, 300), cell(1.0, 9, cache="warm"), silent])
    assert points(load) == [Point(1.0, interval(300.0), 0.95), Point(2.0, interval(400.0), 0.95)]


def test_times_and_budget_are_drawn_to_scale() -> None:
    drawing = ttft_figure("a", "t", SERIES, 1000)
    # From 50 to 10000 ms on 174 pixels, from 184 up to 10.
    level = scale((math.log10(50), 4), (184, 10))
    [budget] = of_class(drawing, "margin")
    assert at(budget, "y1") == at(budget, "y2") == pytest.approx(level(3), abs=0.01)
    bars = [element for element in of_class(drawing, "trail") if element.tag.endswith("line")]
    upright = [bar for bar in bars if bar.get("x1") == bar.get("x2")]
    ends = [at(bar, y) for bar in upright for y in ("y1", "y2")]
    assert ends == pytest.approx([level(math.log10(time)) for time in (180, 220, 7200, 8800, 90, 110)], abs=0.01)
    # Two variants at one rate stand 4 pixels apart; rates run from 0 to 4.32 between 52 and 338.
    middle = scale((0, 4.32), (52, 338))(1)
    assert [at(upright[0], "x1"), at(upright[2], "x1")] == pytest.approx([middle - 2, middle + 2], abs=0.01)


def test_the_numbers_are_told_to_who_does_not_see_them() -> None:
    drawing = ttft_figure("a", "measured", SERIES, 1000)
    assert "budget 1000 ms; bf16: P95 200 (180 to 220) at 1/s, P99 8,000 (7,200 to 8,800) at 4/s; fp8: P95" in drawing
    assert len([element for element in of_class(drawing, "run-2") if "run" in element.get("class", "").split()]) == 2


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_logarithmic_axis_holds_its_range(one: float, other: float) -> None:
    low, high = sorted((one, other))
    found = log_ticks(low, high)
    assert 2 <= len(found) <= 10
    assert found[0] <= max(low, LEAST_MS) + 1e-12 and max(high, LEAST_MS) <= found[-1]
    assert all(first < second for first, second in pairwise(found))
    assert all(f"{value:e}"[0] in "125" for value in found)


@given(
    st.lists(st.tuples(st.floats(0.1, 50), st.floats(0, 1e5), st.floats(0, 0.9)), min_size=1, max_size=5),
    st.floats(1, 1e5),
    NASTY,
)
def test_every_mark_lies_within_the_figure(
    numbers: list[tuple[float, float, float]], budget_ms: float, name: str
) -> None:
    some = [Point(rate, interval(time, share), 0.95) for rate, time, share in numbers]
    drawing = ttft_figure("a", name, {name: (1, some)}, budget_ms)
    bars = [element for element in of_class(drawing, "trail") if element.tag.endswith("line")]
    assert len(bars) == 3 * len(some)
    assert all(
        10 <= at(bar, y) <= 184 and 49 <= at(bar, x) <= 341 for bar in bars for x in ("x1", "x2") for y in ("y1", "y2")
    )


def test_goodput_is_drawn_to_scale_and_coloured_by_the_budget() -> None:
    tuned = tuning()
    over = TuningCell(flags=DEFAULT, cell=cell(2.0, 5000, goodput=interval(1.0)))
    drawing = goodput_figure("a", "t", tuned.model_copy(update={"tried": [over, tuned.tried[1]]}))
    place = scale((0, 1.05 * 2.625), (6, 344))
    [first, second] = of_class(drawing, "dot")
    assert (first.get("class"), second.get("class")) == ("dot fail", "dot pass")
    assert [at(first, "cx"), at(second, "cx")] == pytest.approx([place(1.0), place(2.5)], abs=0.01)
    across = of_class(drawing, "bar")[0]
    assert [at(across, "x1"), at(across, "x2")] == pytest.approx([place(0.9), place(1.1)], abs=0.01)
    assert "2048-16-0 at 2/s, default: 1.00 (0.90 to 1.10), broken: TTFT p95 5000 ms, budget 1000" in drawing
    assert "512-8-256 at 2.5/s, chosen: 2.50 (2.38 to 2.62), kept" in drawing


def test_no_goodput_at_all_can_be_drawn() -> None:
    nothing = [TuningCell(flags=DEFAULT, cell=cell(2.0, 5000, goodput=interval(0.0)))]
    [dot] = of_class(goodput_figure("a", "t", tuning().model_copy(update={"tried": nothing})), "dot")
    assert at(dot, "cx") == 6
