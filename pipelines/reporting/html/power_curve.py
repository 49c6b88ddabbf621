"""The power of a non-inferiority gate over the disagreement, with what was measured marked on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from xml.etree import ElementTree as ET

from markupsafe import Markup

from pipelines.reporting.html.svg import element, figure, label, line, marker, scale
from registry.gate.policy import NonInferiority
from registry.gate.power import TARGET_POWER, power

TOP_PSI = 0.12
STEPS = 48
WIDTH = 350.0
HEIGHT = 190.0
LEFT, RIGHT, TOP, BOTTOM = 38.0, 10.0, 8.0, 34.0
LEGEND = 17.0


def power_figure(name: str, gate: NonInferiority, n: int, measured: Mapping[str, tuple[int, float]]) -> Markup:
    """Exact probability that a candidate equal to the baseline gets PASS, over a psi of 0 to 12 %, on `n` items.

    `measured` maps a run to its number (which gives its colour) and its psi (0 to 1); a larger psi stands at the edge.
    """
    margin = gate.margin_pp / 100
    across = scale((0.0, TOP_PSI), (LEFT, WIDTH - RIGHT))
    up = scale((0.0, 1.0), (HEIGHT - BOTTOM, TOP))
    curve = [(psi, power(n, margin, gate.alpha, psi)) for psi in (TOP_PSI * step / STEPS for step in range(STEPS + 1))]
    path = "M" + "L".join(f"{across(psi):.1f} {up(value):.1f}" for psi, value in curve)
    target = up(TARGET_POWER)
    body = [
        *_axes(across, up),
        line((LEFT, target), (WIDTH - RIGHT, target), "margin"),
        element("path", d=path, class_="curve"),
    ]
    told = []
    for row, (run, (number, psi)) in enumerate(measured.items()):
        reached = power(n, margin, gate.alpha, psi)
        beyond = ", beyond the figure" if psi > TOP_PSI else ""
        words = f"{run}: psi {100 * psi:.1f} %{beyond}, power {reached:.3f}"
        told.append(words)
        x, y = across(psi), HEIGHT + 8 + LEGEND * row
        body += [
            line((x, HEIGHT - BOTTOM), (x, up(reached)), f"stem run-{number % 8}"),
            marker(number, x, up(reached)),
            marker(number, LEFT, y + 7),
            label(LEFT + 12, y + 11, words, "small"),
        ]
    title = f"Power of {gate.suite} {gate.verdict}, margin {gate.margin_pp:g} pp on {n} items"
    return figure(name, (WIDTH, HEIGHT + 12 + LEGEND * len(measured)), title, "; ".join(told), body)


def _axes(across: Callable[[float], float], up: Callable[[float], float]) -> list[ET.Element]:
    floor = HEIGHT - BOTTOM
    body = [line((LEFT, floor), (WIDTH - RIGHT, floor), "axis"), line((LEFT, TOP), (LEFT, floor), "axis")]
    for percent in range(0, 13, 2):
        x = across(percent / 100)
        body += [
            line((x, floor), (x, floor + 4), "axis"),
            label(x, floor + 16, f"{percent}", "small muted", "middle"),
        ]
    for share in (0.0, 0.5, TARGET_POWER, 1.0):
        body.append(label(LEFT - 5, up(share) + 4, f"{share:g}", "small muted", "end"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    body.append(label(middle, floor + 30, "disagreement psi, %", "small muted", "middle"))
    return body
