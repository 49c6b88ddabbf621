"""The confidence interval of each non-inferiority gate against its margin, as a figure and as a strip of one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from markupsafe import Markup

from pipelines.reporting.html.svg import element, figure, label, line, scale, ticks
from registry.gate.decision import GateResult, Outcome, SceneDecision

WIDTH = 350.0
ROW = 42.0
STRIP = (220.0, 24.0)
PAD = 6.0


@dataclass(frozen=True)
class Interval:
    """A gate's estimate, bounds and margin of (candidate - baseline) in percentage points; the margin is positive."""

    candidate: str
    gate: str
    outcome: Outcome
    estimate: float
    lower: float
    upper: float
    margin: float

    @property
    def told(self) -> str:
        """The numbers as a phrase."""
        return (
            f"{self.estimate + 0.0:.2f} pp, from {self.lower:.2f} to {self.upper:.2f}, against a margin of "
            f"-{self.margin:g}"
        )


def interval(candidate: str, gate: GateResult) -> Interval | None:
    """The interval of a gate; None for a gate that has none."""
    if gate.drop_pp is None or gate.lower_pp is None or gate.upper_pp is None or gate.margin_pp is None:
        return None
    name = " ".join(filter(None, [gate.suite, gate.verdict]))
    # A drop of 0 is to be a difference of 0, not of -0.
    return Interval(candidate, name, gate.outcome, 0.0 - gate.drop_pp, gate.lower_pp, gate.upper_pp, gate.margin_pp)


def intervals_of(scene: SceneDecision) -> list[Interval]:
    """The intervals of a scene's candidates and gates, in their order."""
    found = [interval(verdict.candidate, gate) for verdict in scene.candidates for gate in verdict.gates]
    return [one for one in found if one is not None]


def domain(rows: Sequence[Interval]) -> tuple[float, float]:
    """The percentage points that hold every interval, every margin and zero, with some room on both sides."""
    low = min(min(row.lower, -row.margin) for row in rows)
    high = max(max(row.upper, 0.0) for row in rows)
    room = (high - low) * 0.08
    return low - room, high + room


def interval_figure(name: str, scene: str, rows: Sequence[Interval]) -> Markup:
    """All intervals of a scene on one axis; each row is shaded where its margin is exceeded."""
    bottom = ROW * len(rows) + 4
    low, high = domain(rows)
    place = scale((low, high), (PAD, WIDTH - PAD))
    body = [line((place(0.0), 0), (place(0.0), bottom), "axis")]
    for index, row in enumerate(rows):
        top = ROW * index
        body += [
            label(PAD, top + 14, f"{row.candidate}, {row.gate}: {row.outcome}", f"small {row.outcome.lower()}"),
            *_bar(row, place, top + 18, 18),
        ]
    body.append(line((PAD, bottom), (WIDTH - PAD, bottom), "axis"))
    for value in ticks(low, high):
        body += [
            line((place(value), bottom), (place(value), bottom + 4), "axis"),
            label(place(value), bottom + 16, f"{value:g}", "small muted", "middle"),
        ]
    body.append(
        label(WIDTH / 2, bottom + 31, "candidate - baseline, pp", "small muted", "middle"),
    )
    told = "; ".join(f"{row.candidate}, {row.gate}: {row.outcome}, {row.told}" for row in rows)
    return figure(name, (WIDTH, bottom + 36), f"Intervals against margins: {scene}", told, body)


def interval_strip(name: str, row: Interval, extent: tuple[float, float]) -> Markup:
    """One interval without an axis, to stand beside others of the same extent."""
    width, height = STRIP
    place = scale(extent, (2, width - 2))
    body = [line((place(0.0), 0), (place(0.0), height), "axis"), *_bar(row, place, 2, height - 4)]
    return figure(name, STRIP, f"{row.candidate}, {row.gate}", f"{row.outcome}: {row.told}", body)


def _bar(row: Interval, place: Callable[[float], float], top: float, height: float) -> list[ET.Element]:
    kind, middle, start = row.outcome.lower(), top + height / 2, place(float("-inf"))
    margin, lower, upper = place(-row.margin), place(row.lower), place(row.upper)
    return [
        element("rect", x=start, y=top, width=max(0.0, margin - start), height=height, class_="zone"),
        line((margin, top), (margin, top + height), "margin"),
        line((lower, middle), (upper, middle), f"bar {kind}"),
        line((lower, middle - 5), (lower, middle + 5), f"bar {kind}"),
        line((upper, middle - 5), (upper, middle + 5), f"bar {kind}"),
        element("circle", cx=place(row.estimate), cy=middle, r=4, class_=f"dot {kind}"),
    ]
