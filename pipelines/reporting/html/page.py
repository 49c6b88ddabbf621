"""The report as one HTML file that needs nothing else: with as many loss cards as its size allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from pipelines.reporting.fitting import fitting
from pipelines.reporting.fleet import fleet
from pipelines.reporting.fleet_section import METHOD, NO_LOAD, NOTHING, accuracy_remarks, memory_remarks
from pipelines.reporting.html import measured, origins, plots
from pipelines.reporting.html.cards import Card, Pile, beginning, piles
from pipelines.reporting.html.load import load_views, not_measured
from pipelines.reporting.html.render import asset, content_policy, render, script_json
from pipelines.reporting.html.scenes import scene_views
from pipelines.reporting.html.tables import Table
from pipelines.reporting.load_tables import METHOD as LOAD_METHOD
from pipelines.reporting.material import Material
from pipelines.reporting.provenance import COMMAND_LIMIT, command
from pipelines.reporting.slices import LEAST, MOST
from pipelines.reporting.summary import meaning
from pipelines.reporting.verdict_tables import MAX_BROKEN, reach

MAX_BYTES = 3_000_000
MAX_OPTIONS = 100  # values that a filter offers
COUNT_GROWTH = 40  # bytes that a pile's line of counts may grow by when cards are dealt
SECTIONS = (
    ("verdicts", "Verdicts"),
    ("gates", "Gates"),
    ("fleet", "Fleet"),
    ("load", "Load"),
    ("plots", "Plots"),
    ("cards", "Loss cards"),
    ("noise", "Noise floor"),
    ("categories", "Categories"),
    ("format", "Format"),
    ("environments", "Environments"),
    ("provenance", "Provenance"),
)


def html_page(material: Material) -> str:
    """The report as HTML of at most `MAX_BYTES` bytes of UTF-8.

    Loss cards are what gives way: each pile loses cards from its end, and how many are left out is said. The other
    sections are bounded by the limits of their tables and cells.
    """
    found = piles(material)
    fixed = _fixed(material) | _filters(found)
    bare = render("report.html.j2", **fixed, **_cards(found, [[] for _ in found]))
    room = MAX_BYTES - len(bare.encode()) - COUNT_GROWTH * len(found)
    dealt = fitting([pile.cards(material.decision.baseline) for pile in found], lambda card: card.cost, room)
    return str(render("report.html.j2", **fixed, **_cards(found, dealt)))


def _fixed(material: Material) -> dict[str, Any]:
    """Everything on the page but the loss cards."""
    style, script = asset("report.css"), asset("report.js")
    return {
        "style": Markup(style),
        "script": Markup(script),
        "content_policy": content_policy(style, script),
        "sections": [(anchor, name) for anchor, name in SECTIONS if anchor != "load" or material.bundle.serving],
        "decision": material.decision,
        "meaning": meaning(material.decision),
        "facts": origins.facts(material),
        # What so many items can show stands with each scene.
        "reach": [(head, rest) for head, rest in reach(material) if head],
        "max_broken": MAX_BROKEN,
        "scenes": scene_views(material),
        "gates": measured.gate_table(material.decision),
        "gate_reasons": measured.gate_reasons(material.decision),
        **_fleet(material),
        "with_load": bool(material.bundle.serving),
        "load_method": LOAD_METHOD,
        "load_views": load_views(material),
        "not_measured": not_measured(material),
        "runs": list(material.engines),
        "interval_plots": plots.interval_plots(material),
        "transition_plots": plots.transition_plots(material),
        "error_plots": plots.error_plots(material),
        "power_plots": plots.power_plots(material),
        "again": material.again.candidate,
        "noise": measured.noise_table(material),
        "lost_again": _lost_again(material),
        "length": measured.length_table(material),
        "least": f"{100 * LEAST:g} %",
        "most": f"{100 * MOST:g} %",
        "categories": measured.category_tables(material),
        "formats": measured.format_tables(material),
        "differing": origins.differing(material),
        "unequal": origins.unequal(material),
        "executions": origins.execution_table(material),
        "origins": origins.origin_tables(material),
        "commands": [(run, beginning(command(engine), COMMAND_LIMIT)) for run, engine in material.engines.items()],
    }


def _fleet(material: Material) -> dict[str, Any]:
    found = fleet(material.profile.policy, material.bundle)
    told: list[tuple[Table, Sequence[str]]] = []
    if found is not None:
        remarks = [accuracy_remarks(found), memory_remarks(found, material)]
        told = list(zip(measured.fleet_tables(found), remarks, strict=True))
    costs = measured.cost_tables_shown(material)
    return {
        "fleet_method": METHOD if found is not None else NOTHING,
        "fleet": [*told, *costs],
        "no_load": "" if costs else NO_LOAD,
    }


def _lost_again(material: Material) -> list[tuple[str, str]]:
    return [
        (suite, ", ".join(loss.item_id for loss in result.new_losses))
        for suite, result in material.again.suites.items()
        if result.new_losses
    ]


def _cards(found: Sequence[Pile], dealt: Sequence[Sequence[Card]]) -> dict[str, Any]:
    losses = sum(len(pile.lost) for pile in found)
    return {
        "piles": list(zip(found, dealt, strict=True)),
        "losses": losses,
        "left_out": losses - sum(map(len, dealt)),
        "limit": f"{MAX_BYTES / 1e6:g} MB",
        "data": script_json({"cards": [card.facets for cards in dealt for card in cards]}),
    }


def _filters(found: Sequence[Pile]) -> dict[str, Any]:
    """The filters and the values that they offer: those of all losses, so that they do not depend on the room."""
    cards = [facets for pile in found for facets in pile.facets]
    values: list[tuple[str, str, list[str]]] = [
        ("candidate", "candidate", [card["candidate"] for card in cards]),
        ("suite", "suite", [card["suite"] for card in cards]),
        ("label", "label", [card["label"] for card in cards]),
        ("domain", "domain", [card["domain"] for card in cards]),
        ("tag", "tag", [tag for card in cards for tag in card["tags"]]),
    ]
    return {"facets": [(facet, name, sorted(set(all_))[:MAX_OPTIONS]) for facet, name, all_ in values]}
