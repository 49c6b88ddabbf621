"""Loss cards of the HTML page: rendered one by one, so that as many are taken as the page has room for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypedDict

from markupsafe import Markup

from evalsets.items import Suite, ToolItem
from pipelines.reporting.differences import Piece, View, views
from pipelines.reporting.html.render import line, render, script_json
from pipelines.reporting.loss_cards import (
    FINDINGS_LIMIT,
    GOLD_LIMIT,
    QUESTION_LIMIT,
    LossCard,
    findings,
    gold,
    loss_card,
    ordered,
    question,
)
from pipelines.reporting.material import Material
from pipelines.reporting.text import spelled, window

FACET_LIMIT = 60  # characters of what a card can be filtered by
OPEN_UP_TO = 200  # characters of a prompt that is shown without being asked for


class Facets(TypedDict):
    """What a card can be filtered by; `id` is that of its element."""

    id: str
    candidate: str
    suite: str
    label: str
    must_pass: bool
    domain: str
    tags: list[str]


@dataclass(frozen=True)
class Card:
    """A rendered card, what it can be filtered by, and the bytes that both take on the page."""

    shown: Markup
    facets: Facets
    cost: int


@dataclass(frozen=True)
class Pile:
    """The losses of one candidate and suite, best first, by the ids that their cards have on the page."""

    run: str
    suite: Suite
    lost: Mapping[str, LossCard]

    @property
    def facets(self) -> list[Facets]:
        """What every one of them can be filtered by."""
        return [_facets(name, self.run, self.suite, card) for name, card in self.lost.items()]

    def cards(self, baseline: str) -> Iterator[Card]:
        """Their cards, each rendered when it is asked for: comparing long answers takes time."""
        for name, card in self.lost.items():
            facets = _facets(name, self.run, self.suite, card)
            shown = _render(name, baseline, self.run, card)
            # The comma between two entries, and the line break between two cards.
            yield Card(shown, facets, len(shown.encode()) + len(script_json(facets).encode()) + 2)


def piles(material: Material) -> list[Pile]:
    """A pile per candidate and suite with every loss."""
    found: list[Pile] = []
    for run, comparison in material.candidates.items():
        for suite, result in comparison.suites.items():
            lost = {
                f"card-{len(found) + 1}-{number}": loss_card(material, run, suite, loss)
                for number, loss in enumerate(ordered(result.new_losses), 1)
            }
            found.append(Pile(run, suite, lost))
    return found


def beginning(text: str, limit: int) -> View:
    """The beginning of a text, spelled, of at most `limit` characters."""
    end = window(text, 0, limit)
    return View([Piece(spelled(text[:end]), False)], 0, end, len(text))


def _facets(name: str, run: str, suite: Suite, card: LossCard) -> Facets:
    return Facets(
        id=name,
        candidate=run,
        suite=suite,
        label=line(card.loss.label, FACET_LIMIT),
        must_pass=card.loss.must_pass,
        domain=card.item.domain,
        tags=[line(tag, FACET_LIMIT) for tag in card.item.tags],
    )


def _render(name: str, baseline: str, run: str, card: LossCard) -> Markup:
    before, after = views(card.baseline, card.candidate)
    asked = question(card.item)
    return render(
        "card.html.j2",
        name=name,
        run=run,
        baseline_name=baseline,
        card=card,
        with_tools=isinstance(card.item, ToolItem),
        open_prompt=len(asked) <= OPEN_UP_TO,
        prompt=beginning(asked, QUESTION_LIMIT),
        gold=beginning(gold(card.item), GOLD_LIMIT),
        findings=beginning(findings(card.verdict), FINDINGS_LIMIT),
        before=before,
        after=after,
    )
