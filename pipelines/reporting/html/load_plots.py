"""Load as figures: the tail of the time to first token against the offered rate, and the goodput of tuned flags."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from markupsafe import Markup

from pipelines.reporting.html.svg import element, figure, label, line, marker, scale, ticks
from pipelines.reporting.load_tables import kept, marks_of, offered, short_flags, spread
from registry.load_profile import Cell, Interval, LoadProfile, Tuning
from registry.store.load_numbers import ALL, cold_open

WIDTH = 350.0
HEIGHT = 220.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 10.0, 36.0
LEGEND = 17.0
ROW = 42.0
PAD = 6.0
ASIDE = 4.0  # pixels between variants at one rate, so that their intervals do not cover each other
LEAST_MS = 0.1  # what a logarithmic axis shows of a time that is not above 0
MANTISSAS = (1.0, 2.0, 5.0)


@dataclass(frozen=True)
class Point:
    """The tail of the time to first token, in milliseconds, at a rate offered (requests per second)."""

    rate: float
    ttft_ms: Interval
    quantile: float


def points(load: LoadProfile) -> list[Point]:
    """The cold open-loop cells that answered a request, by ascending rate."""
    tails = [(cell.rate or 0.0, cell.latency.get(ALL)) for cell in cold_open(load)]
    return [Point(rate, tail.ttft_ms, tail.quantile) for rate, tail in tails if tail is not None]


def ttft_figure(name: str, title: str, series: Mapping[str, tuple[int, Sequence[Point]]], budget_ms: float) -> Markup:
    """A series per variant with the interval at each rate and the budget as a dashed line, times on a logarithmic axis.

    `series` maps a variant to its number, which gives its colour and mark, and to its points, one or more each.
    """
    found = [point for _, some in series.values() for point in some]
    times = [part for point in found for part in (point.ttft_ms.lower, point.ttft_ms.upper, point.ttft_ms.estimate)]
    marks = log_ticks(min([budget_ms, *times]), max([budget_ms, *times]))
    highest = 1.08 * max(point.rate for point in found)
    across = scale((0.0, highest), (LEFT, WIDTH - RIGHT))
    level = scale((math.log10(marks[0]), math.log10(marks[-1])), (HEIGHT - BOTTOM, TOP))

    def up(time_ms: float) -> float:
        return level(math.log10(max(time_ms, LEAST_MS)))

    body = _axes(across, up, marks, highest)
    body += [
        line((LEFT, up(budget_ms)), (WIDTH - RIGHT, up(budget_ms)), "margin"),
        label(WIDTH - RIGHT, up(budget_ms) - 4, f"budget {budget_ms:g} ms", "small fail", "end"),
    ]
    told = [f"budget {budget_ms:g} ms"]
    for row, (variant, (number, some)) in enumerate(series.items()):
        body += _series(number, some, across, up, ASIDE * (row - (len(series) - 1) / 2))
        y = HEIGHT + 8 + LEGEND * row
        body += [marker(number, LEFT, y + 7), label(LEFT + 12, y + 11, variant, "small")]
        at = ", ".join(f"P{100 * point.quantile:g} {spread(point.ttft_ms)} at {point.rate:g}/s" for point in some)
        told.append(f"{variant}: {at}")
    return figure(name, (WIDTH, HEIGHT + 12 + LEGEND * len(series)), title, "; ".join(told), body)


def goodput_figure(name: str, title: str, tuning: Tuning) -> Markup:
    """A row per set of flags, one or more: its goodput with the interval, in PASS's colour where it kept the budget.

    A set is named by its tokens, sequences and threshold.
    """
    goodputs = [tried.cell.goodput for tried in tuning.tried]
    high = 1.05 * max(value.upper for value in goodputs) or 1.0
    low = min([0.0, *(value.lower for value in goodputs)])
    bottom = ROW * len(tuning.tried) + 4
    place = scale((low, high), (PAD, WIDTH - PAD))
    body, told = [line((place(0.0), 0), (place(0.0), bottom), "axis")], []
    for index, tried in enumerate(tuning.tried):
        marks = marks_of(tried, tuning)
        words = ", ".join([f"{short_flags(tried.flags)} at {offered(tried.cell)}", *marks])
        body += [label(PAD, ROW * index + 14, words, "small"), *_bar(tried.cell, place, index)]
        told.append(f"{words}: {spread(tried.cell.goodput)}, {kept(tried.cell)}")
    body.append(line((PAD, bottom), (WIDTH - PAD, bottom), "axis"))
    for value in ticks(low, high):
        body += [
            line((place(value), bottom), (place(value), bottom + 4), "axis"),
            label(place(value), bottom + 16, f"{value:g}", "small muted", "middle"),
        ]
    body.append(label(WIDTH / 2, bottom + 31, "goodput, requests/s", "small muted", "middle"))
    return figure(name, (WIDTH, bottom + 36), title, "; ".join(told), body)


def log_ticks(low: float, high: float) -> list[float]:
    """Two or more of 1, 2 and 5 times powers of ten, the first at most `low`, the last at least `high` and above it.

    Of a range of more than two decades only the powers, so that the labels stay apart. Below `LEAST_MS` is `LEAST_MS`.
    """
    low, high = max(low, LEAST_MS), max(high, LEAST_MS)
    # A decade more on both sides, since the logarithm of a number just below a power is rounded to the power.
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    every = sorted(factor * 10.0**power for power in powers for factor in MANTISSAS)
    first = max(value for value in every if value <= low)
    last = min(value for value in every if value >= high and value > first)
    inner = [value for value in every if first < value < last]
    if last / first > 100:
        inner = [value for value in inner if math.log10(value).is_integer()]
    return [first, *inner, last]


def _axes(
    across: Callable[[float], float], up: Callable[[float], float], marks: Sequence[float], highest: float
) -> list[ET.Element]:
    floor = HEIGHT - BOTTOM
    body = [line((LEFT, floor), (WIDTH - RIGHT, floor), "axis"), line((LEFT, TOP), (LEFT, floor), "axis")]
    for rate in ticks(0.0, highest):
        x = across(rate)
        body += [line((x, floor), (x, floor + 4), "axis"), label(x, floor + 16, f"{rate:g}", "small muted", "middle")]
    for value in marks:
        body += [
            line((LEFT, up(value)), (WIDTH - RIGHT, up(value)), "faint"),
            label(LEFT - 5, up(value) + 4, f"{value:g}", "small muted", "end"),
        ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    body.append(label(middle, floor + 30, "offered, requests/s", "small muted", "middle"))
    body.append(label(12, (TOP + floor) / 2, "TTFT tail, ms", "small muted", "middle", turned=-90))
    return body


def _series(
    number: int,
    some: Sequence[Point],
    across: Callable[[float], float],
    up: Callable[[float], float],
    aside: float,
) -> list[ET.Element]:
    kind = f"trail run-{number % 8}"
    places = [(across(point.rate) + aside, up(point.ttft_ms.estimate)) for point in some]
    body = []
    if len(places) > 1:
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        body.append(element("path", d=path, class_=kind))
    for (x, y), point in zip(places, some, strict=True):
        lower, upper = up(point.ttft_ms.lower), up(point.ttft_ms.upper)
        body += [
            line((x, lower), (x, upper), kind),
            line((x - 3, lower), (x + 3, lower), kind),
            line((x - 3, upper), (x + 3, upper), kind),
            marker(number, x, y),
        ]
    return body


def _bar(cell: Cell, place: Callable[[float], float], index: int) -> list[ET.Element]:
    kind, middle = "pass" if cell.kept else "fail", ROW * index + 27
    lower, upper = place(cell.goodput.lower), place(cell.goodput.upper)
    return [
        line((lower, middle), (upper, middle), f"bar {kind}"),
        line((lower, middle - 5), (lower, middle + 5), f"bar {kind}"),
        line((upper, middle - 5), (upper, middle + 5), f"bar {kind}"),
        element("circle", cx=place(cell.goodput.estimate), cy=middle, r=4, class_=f"dot {kind}"),
    ]
