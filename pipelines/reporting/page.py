"""The whole report: its sections in order, with as many loss cards as the size allows."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.reporting.answers import noise, transitions
from pipelines.reporting.format_tables import fragility, length
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
    before = joined(title(material), scenes(decision), gates(decision), transitions(material))
    measured = joined(slices(material), fragility(material), noise(material), length(material))
    after = joined(measured, executions(material), provenance(material))
    found = piles(material)
    bare = joined(before, _cards(found, [0] * len(found)), after)
    room = MAX_BYTES - 1 - _size(bare) - COUNT_GROWTH * len(found)
    return joined(before, _cards(found, _fitting(found, room)), after) + "\n"


def _fitting(found: Sequence[Pile], room: int) -> list[int]:
    """How many cards of each pile fit into `room` bytes, dealt in turn so that no pile starves another."""
    taken, still = [0] * len(found), list(range(len(found)))
    while still:
        for index in list(still):
            cards = found[index].cards
            cost = _size(cards[taken[index]]) + 2 if taken[index] < len(cards) else None
            if cost is None or cost > room:
                still.remove(index)
            else:
                room -= cost
                taken[index] += 1
    return taken


def _cards(found: Sequence[Pile], taken: Sequence[int]) -> str:
    parts = [
        joined(f"### {inline(pile.run)} on {pile.suite}", _count(pile, count), *pile.cards[:count])
        for pile, count in zip(found, taken, strict=True)
    ]
    return joined("## Loss cards", INTRODUCTION, *parts)


def _count(pile: Pile, count: int) -> str:
    if pile.losses == 0:
        return "No item was lost."
    left_out = pile.losses - count
    return f"{pile.losses} lost, {count} shown" + (f", {left_out} left out." if left_out else ".")


def _size(text: str) -> int:
    return len(text.encode())
