"""Which label an item had under the baseline and which under the candidate: a heat map per candidate and suite."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from markupsafe import Markup

from judges.taxonomy import LABELS, rank
from pipelines.reporting.answers import RIGHT, kind
from pipelines.reporting.html.svg import element, figure, label, line, text_width
from registry.evidence import Transition
from registry.gate.outcome import counted

MOST = 12  # labels on an axis; rarer ones are pooled
OTHER = "other labels"
CELL = 26.0
CORNER = 150.0  # the least room at the left, for the words above the rows
TILT = 60.0  # degrees by which column labels stand up
Cells = Counter[tuple[str, str]]


def heatmap(name: str, title: str, changes: Sequence[Transition]) -> Markup:
    """Rows are the baseline's labels, columns the candidate's, `ok` first, then by precedence.

    A cell is coloured by what it means (loss, gain, both right, both wrong) and is the stronger the more items it has.
    """
    kept = _kept(changes)
    cells: Cells = Counter()
    for change in changes:
        cells[_pooled(change.baseline, kept), _pooled(change.candidate, kept)] += change.count
    rows = [found for found in [*kept, OTHER] if any(old == found for old, _ in cells)]
    columns = [found for found in [*kept, OTHER] if any(new == found for _, new in cells)]
    side = max(CORNER, *map(text_width, rows)) + 10
    longest = max(map(text_width, columns))
    head = max(40.0, longest * math.sin(math.radians(TILT)) + 14)
    body = [label(0, head - 8, "baseline ↓  candidate →", "small muted"), *_grid(side, head, len(rows), len(columns))]
    body += [label(side - 8, head + CELL * (row + 0.66), found, "small", "end") for row, found in enumerate(rows)]
    body += [
        label(side + CELL * (column + 0.6), head - 6, found, "small", turned=-TILT)
        for column, found in enumerate(columns)
    ]
    for (old, new), count in sorted(cells.items()):
        place = (side + CELL * columns.index(new), head + CELL * rows.index(old))
        body += _cell(place, Transition(baseline=old, candidate=new, count=count), _strength(cells, count))
    across = side + CELL * len(columns) + max(0.0, text_width(columns[-1]) * math.cos(math.radians(TILT)) - CELL / 2)
    return figure(name, (across, head + CELL * len(rows) + 2), title, _told(changes), body)


def _grid(side: float, head: float, rows: int, columns: int) -> list[ET.Element]:
    across, down = side + CELL * columns, head + CELL * rows
    level = [line((side, head + CELL * row), (across, head + CELL * row), "faint") for row in range(rows + 1)]
    upright = [line((side + CELL * n, head), (side + CELL * n, down), "faint") for n in range(columns + 1)]
    return [*level, *upright]


def _cell(place: tuple[float, float], change: Transition, strength: float) -> list[ET.Element]:
    x, y = place
    meaning = kind(change).replace(" ", "-")
    hint = f"{change.baseline} to {change.candidate}: {counted(change.count, 'item', 'items')}, {kind(change)}"
    return [
        element(
            "rect",
            element("title", text=hint),
            x=x + 1,
            y=y + 1,
            width=CELL - 2,
            height=CELL - 2,
            rx=3,
            class_=f"cell {meaning}",
            fill_opacity=strength,
        ),
        label(x + CELL / 2, y + CELL * 0.66, str(change.count), "small cell-text", "middle"),
    ]


def _strength(cells: Cells, count: int) -> float:
    # What is right on both sides is by far the most and would leave all else pale.
    most = max((other for pair, other in cells.items() if pair != (RIGHT, RIGHT)), default=count)
    return 0.15 + 0.4 * math.sqrt(min(1.0, count / most))


def _kept(changes: Sequence[Transition]) -> list[str]:
    """`ok` and the most frequent labels, in the order of precedence; a label that the taxonomy lacks comes last."""
    counts: Counter[str] = Counter()
    for change in changes:
        counts.update(dict.fromkeys({change.baseline, change.candidate} - {RIGHT}, change.count))
    frequent = [found for found, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST]]
    last = (sys.maxsize, 0)
    return [RIGHT, *sorted(frequent, key=lambda found: (rank(found) if found in LABELS else last, found))]


def _pooled(name: str, kept: Sequence[str]) -> str:
    return name if name in kept else OTHER


def _told(changes: Sequence[Transition]) -> str:
    """The numbers of items per kind, in words."""
    counts: Counter[str] = Counter()
    for change in changes:
        counts[kind(change)] += change.count
    named = {"loss": "lost", "gain": "gained", "both right": "right on both sides", "both wrong": "wrong on both sides"}
    return ", ".join(f"{counts[key]} {words}" for key, words in named.items())
