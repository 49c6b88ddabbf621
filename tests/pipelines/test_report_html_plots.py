"""The plots: well-formed SVG whose marks stand where the numbers say, whatever the names are."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reporting.html.bars import MOST as MOST_BARS
from pipelines.reporting.html.bars import error_bars
from pipelines.reporting.html.heatmap import MOST, OTHER, heatmap
from pipelines.reporting.html.intervals import Interval, domain, interval_figure, interval_strip, intervals_of
from pipelines.reporting.html.power_curve import power_figure
from pipelines.reporting.html.svg import scale, ticks
from registry.evidence import Transition
from registry.gate.policy import NonInferiority
from registry.gate.power import power
from tests.pipelines.report_records import decision

ROW = Interval("fp8", "qa strict", "PASS", estimate=0.0, lower=-5.0, upper=5.0, margin=12.0)
NASTY = st.text(alphabet="<>&\"' a中\x00\ud800\n", min_size=1, max_size=80)


def of_class(drawing: str, name: str) -> list[ET.Element]:
    return [element for element in ET.fromstring(drawing).iter() if name in element.get("class", "").split()]


def texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(drawing).iter("text")]


@given(st.floats(-100, 100), st.floats(0.01, 100), st.floats(-200, 200))
def test_a_scale_keeps_the_order_and_stays_within(low: float, width: float, value: float) -> None:
    place = scale((low, low + width), (10, 90))
    assert 10 <= place(value) <= 90 + 1e-9
    assert place(low) == 10 and place(low + width) == pytest.approx(90)
    assert place(value) <= place(value + 1)


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(-13, 7, [-10, -5, 0, 5]), (-40, 2, [-40, -30, -20, -10, 0]), (-1.2, 0.3, [-1, -0.5, 0])],
)
def test_ticks_are_round_numbers(low: float, high: float, found: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(found)


def test_an_interval_is_drawn_to_scale() -> None:
    drawing = interval_strip("a", ROW, (-20.0, 10.0))
    across, lower, upper = of_class(drawing, "bar")
    [margin], [zone], [dot] = of_class(drawing, "margin"), of_class(drawing, "zone"), of_class(drawing, "dot")
    place = scale((-20.0, 10.0), (2, 218))
    assert float(lower.get("x1", "")) == pytest.approx(place(-5.0), abs=0.01)
    assert float(upper.get("x1", "")) == pytest.approx(place(5.0), abs=0.01)
    assert (across.get("x1"), across.get("x2")) == (lower.get("x1"), upper.get("x1"))
    assert float(margin.get("x1", "")) == pytest.approx(place(-12.0), abs=0.01)
    assert float(zone.get("x", "")) + float(zone.get("width", "")) == pytest.approx(place(-12.0), abs=0.02)
    assert float(dot.get("cx", "")) == pytest.approx(place(0.0), abs=0.01)


@given(st.lists(st.tuples(st.floats(-90, 0), st.floats(0, 90), st.floats(0.1, 50)), min_size=1, max_size=4), NASTY)
def test_every_bound_margin_and_zero_lie_within_the_figure(
    numbers: list[tuple[float, float, float]], name: str
) -> None:
    rows = [Interval(name, name, "FAIL", (low + high) / 2, low, high, margin) for low, high, margin in numbers]
    low, high = domain(rows)
    assert all(low < min(row.lower, -row.margin) and max(row.upper, 0) < high for row in rows)
    assert len(of_class(interval_figure("a", name, rows), "zone")) == len(rows)


def test_only_gates_with_an_interval_have_one() -> None:
    [scene] = decision().scenes
    assert [(row.candidate, row.gate, row.estimate) for row in intervals_of(scene)] == [
        ("awq-int4", "tools strict", -6.25),
        ("fp8", "tools strict", -6.25),
    ]


def changes(pairs: dict[tuple[str, str], int]) -> list[Transition]:
    return [Transition(baseline=old, candidate=new, count=count) for (old, new), count in pairs.items()]


def test_a_heat_map_tells_losses_gains_and_the_rest_apart() -> None:
    drawing = heatmap(
        "a", "t", changes({("ok", "ok"): 31, ("ok", "no_call"): 5, ("no_call", "ok"): 2, ("no_call", "no_call"): 7})
    )
    found = {cell.get("class"): cell[0].text for cell in of_class(drawing, "cell")}
    assert found == {
        "cell both-right": "ok to ok: 31 items, both right",
        "cell loss": "ok to no_call: 5 items, loss",
        "cell gain": "no_call to ok: 2 items, gain",
        "cell both-wrong": "no_call to no_call: 7 items, both wrong",
    }
    assert "5 lost, 2 gained, 31 right on both sides, 7 wrong on both sides" in drawing


@given(st.dictionaries(st.tuples(NASTY, NASTY), st.integers(1, 50), min_size=1, max_size=40))
def test_a_heat_map_counts_every_item_once_and_stays_small(pairs: dict[tuple[str, str], int]) -> None:
    drawing = heatmap("a", "t", changes(pairs))
    cells = of_class(drawing, "cell-text")
    assert sum(int(cell.text or "") for cell in cells) == sum(pairs.values())
    labels = [text for text in texts(drawing) if not text.isdigit()]
    assert len(labels) <= 2 * (MOST + 2) + 1
    assert len(drawing.encode()) < 100_000


def test_rare_labels_are_pooled() -> None:
    pairs = {("ok", f"label{n:02}"): 20 - n for n in range(MOST + 3)}
    drawing = heatmap("a", "t", changes(pairs))
    assert OTHER in texts(drawing) and "label00" in texts(drawing) and f"label{MOST:02}" not in texts(drawing)


def test_bars_have_a_length_per_run_and_rare_labels_are_pooled() -> None:
    counts = {"bf16": {"a": 4, "b": 1}, "fp8": {"a": 2, **{f"rare{n:02}": 1 for n in range(20)}}}
    drawing = error_bars("a", "t", counts)
    first, second = of_class(drawing, "run-0")[0], of_class(drawing, "run-1")[0]
    assert float(first.get("width", "")) == pytest.approx(2 * float(second.get("width", "")), abs=0.02)
    numbers = Counter({run: sum(labels.values()) for run, labels in counts.items()})
    assert sum(int(text) for text in texts(drawing) if text.isdigit()) == numbers.total()
    assert len([text for text in texts(drawing) if not text.isdigit()]) == MOST_BARS + 1
    assert "b: 1 in bf16, 0 in fp8" in drawing


def test_no_error_at_all_can_be_drawn() -> None:
    assert texts(error_bars("a", "t", {"bf16": {}, "fp8": {}})) == []


def test_the_power_curve_is_the_exact_power_and_says_what_was_measured() -> None:
    gate = NonInferiority(test="noninferiority", suite="tools", margin_pp=16.0)
    drawing = power_figure("a", gate, 48, {"fp8": (2, 0.0625), "awq-int4": (1, 0.3125)})
    assert f"fp8: psi 6.2 %, power {power(48, 0.16, 0.05, 0.0625):.3f}" in texts(drawing)
    assert f"awq-int4: psi 31.2 %, beyond the figure, power {power(48, 0.16, 0.05, 0.3125):.3f}" in texts(drawing)
    [curve] = of_class(drawing, "curve")
    points = [tuple(map(float, point.split())) for point in curve.get("d", "")[1:].split("L")]
    assert len(points) == 49
    # The axis of the power runs from 156 (0) to 8 (1), that of psi from 38 (0) to 340 (12 %).
    for x, y in points[:: len(points) // 6]:
        assert (156 - y) / 148 == pytest.approx(power(48, 0.16, 0.05, 0.12 * (x - 38) / 302), abs=0.002)
