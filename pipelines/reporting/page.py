"""The whole report: its sections in order, with as many loss cards as the size allows."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.reporting.answers import noise, transitions
from pipelines.reporting.fitting import fitting
from pipelines.reporting.fleet_section import fleet_section
from pipelines.reporting.format_tables import fragility, length
from pipelines.reporting.load_section import load_section
from pipelines.reporting.loss_cards import MAX_CARDS, Pile, piles
from pipelines.reporting.material import Material
from pipelines.reporting.provenance import executions, provenance
from pipelines.reporting.slices import slices
from pipelines.reporting.text import LEGEND, inline, joined
from pipelines.reporting.verdict_tables import gates, scenes, title

MAX_BYTES = 60_000
INTRODUCTION = (
    "Items that the baseline had right and the candidate has wrong: must-pass items first, then by the precedence of "
    f"the label, up to {MAX_CARDS} a candidate and suite and as many as this page has room for. {LEGEND}"
)
COUNT_GROWTH = 4  # bytes that a pile's line of counts may grow by when cards are dealt


def page(material: Material) -> str:
    """The report as Markdown with a final newline, of at most `MAX_BYTES` bytes of UTF-8.

    Loss cards are what gives way: each pile loses cards from its end, and how many are left out is said. The other
    sections are never cut beyond the limits of their own tables and cells.
    """
    decision = material.decision
    decided = joined(title(material), scenes(decision), gates(decision), fleet_section(material))
    before = joined(decided, load_section(material.bundle.serving), transitions(material))
    measured = joined(slices(material), fragility(material), noise(material), length(material))
    after = joined(measured, executions(material), provenance(material))
    found = piles(material)
    bare = joined(before, _cards(found, [[] for _ in found]), after)
    room = MAX_BYTES - 1 - _size(bare) - COUNT_GROWTH * len(found)
    dealt = fitting([pile.cards for pile in found], lambda card: _size(card) + 2, room)
    return joined(before, _cards(found, dealt), after) + "\n"


def _cards(found: Sequence[Pile], dealt: Sequence[Sequence[str]]) -> str:
    parts = [
        joined(f"### {inline(pile.run)} on {pile.suite}", _count(pile, len(shown)), *shown)
        for pile, shown in zip(found, dealt, strict=True)
    ]
    return joined("## Loss cards", INTRODUCTION, *parts)


def _count(pile: Pile, count: int) -> str:
    if pile.losses == 0:
        return "No item was lost."
    left_out = pile.losses - count
    return f"{pile.losses} lost, {count} shown" + (f", {left_out} left out." if left_out else ".")


def _size(text: str) -> int:
    return len(text.encode())
