"""What every plot is made of: SVG elements, a scale, and the figure around them. Pure.

Elements are built as a tree and serialised, so that no text can become mark-up. Colours are classes of the page's
style sheet, which knows light and dark; positions are in pixels of the figure's own size.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from xml.etree import ElementTree as ET

from markupsafe import Markup

from registry.store.markup import one_line

LABEL_LIMIT = 60  # characters of a name in a plot
TEXT_LIMIT = 4_000  # characters of a description
Value = str | float


def element(name: str, *children: ET.Element, text: str = "", **attributes: Value) -> ET.Element:
    """An SVG element. Attribute names have `_` for `-`, a final `_` is dropped (`class_`); numbers are rounded."""
    found = ET.Element(name, {key.rstrip("_").replace("_", "-"): _value(value) for key, value in attributes.items()})
    found.text = one_line(text[:TEXT_LIMIT]) or None
    found.extend(children)
    return found


def text_width(text: str) -> float:
    """About how wide a text of class `small` is, in pixels; a wide character counts for two."""
    wide = sum(unicodedata.east_asian_width(mark) in "WF" for mark in text[:LABEL_LIMIT])
    return 6.9 * (min(len(text), LABEL_LIMIT) + wide)


def label(x: float, y: float, text: str, kind: str, anchor: str = "start", turned: float = 0) -> ET.Element:
    """A text of class `kind` at a place, cut to `LABEL_LIMIT` characters, turned by so many degrees about it."""
    found = element("text", x=x, y=y, class_=kind)
    if anchor != "start":
        found.set("text-anchor", anchor)
    if turned:
        found.set("transform", f"rotate({_value(turned)} {_value(x)} {_value(y)})")
    found.text = one_line(text if len(text) <= LABEL_LIMIT else text[: LABEL_LIMIT - 1] + "…")
    return found


def line(start: tuple[float, float], end: tuple[float, float], kind: str) -> ET.Element:
    """A line of class `kind` between two places."""
    return element("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=kind)


def marker(number: int, x: float, y: float) -> ET.Element:
    """A mark of the run's own shape and colour: colour alone would not tell runs apart."""
    shapes = (
        f"M{x - 4:.1f} {y:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8z",
        f"M{x:.1f} {y - 5:.1f}l5 9h-10z",
        f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z",
    )
    return element("path", d=shapes[number % len(shapes)], class_=f"run run-{number % 8}")


def figure(name: str, size: tuple[float, float], title: str, description: str, body: Sequence[ET.Element]) -> Markup:
    """A figure of (width, height) that says what it shows: `name` is its id in the page, letters and digits.

    The description is what somebody who does not see the figure is told.
    """
    width, height = size
    root = element(
        "svg",
        element("title", text=title, id=f"{name}-title"),
        element("desc", text=description, id=f"{name}-desc"),
        *body,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
    )
    return Markup(ET.tostring(root, encoding="unicode"))


def scale(domain: tuple[float, float], pixels: tuple[float, float]) -> Callable[[float], float]:
    """A linear scale; values outside the domain stay at its edge."""
    (low, high), (first, last) = domain, pixels

    def place(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return first + share * (last - first)

    return place


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers (steps of 1, 2 or 5) from `low` to `high`, about as many as wanted."""
    raw = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _value(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
