"""The size of the HTML report: loss cards give way, evenly, and what is left out is said."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reporting.fitting import fitting
from pipelines.reporting.html.page import MAX_BYTES, html_page
from pipelines.reporting.material import Material
from tests.pipelines.report_html_reader import read, words
from tests.pipelines.report_material import answers, material
from tests.pipelines.report_settings import RUNS, VARIANTS, profile


def with_a_third_candidate(made: Material) -> Material:
    """The same run with a variant `int8` that answered as fp8 did."""
    runs = {run: {"variant": made.profile.runs[run].variant, "order_seed": 1} for run in RUNS}
    settings_ = profile(
        variants={variant: {"recipe": "r.yaml"} for variant in [*VARIANTS, "int8"]},
        runs=runs | {"int8": {"variant": "int8", "order_seed": 1}},
    )
    parts = made.bundle
    bundle = replace(
        parts,
        comparisons=parts.comparisons | {"int8": parts.comparisons["fp8"].model_copy(update={"candidate": "int8"})},
        engines=parts.engines | {"int8": parts.engines["fp8"]},
        manifests=parts.manifests | {"int8": parts.manifests["fp8"]},
        metrics=parts.metrics | {"int8": parts.metrics["fp8"]},
    )
    return replace(
        made,
        profile=settings_,
        bundle=bundle,
        verdicts={**made.verdicts, "int8": made.verdicts["fp8"]},
        responses={**made.responses, "int8": made.responses["fp8"]},
    )


@pytest.mark.parametrize("text", ["长文" * 900, "<&\"'" * 400, "\x00\ud800" * 100])
def test_820_items_of_three_candidates_stay_under_the_limit_and_what_is_left_out_is_said(text: str) -> None:
    run = with_a_third_candidate(material(count=410, losses=409))
    raw = answers(run.items, text)
    made = html_page(replace(run, responses={**raw, "int8": raw["fp8"]}))
    assert MAX_BYTES * 0.95 < len(made.encode()) <= MAX_BYTES
    page = read(made)
    piles = [words(pile.all("p")[0].text) for pile in page.all("section", class_="pile")]
    counts = [re.fullmatch(r"409 lost, (\d+) shown, (\d+) left out\.", told) for told in piles]
    shown = [int(count[1]) for count in counts if count]
    assert len(shown) == 6 and min(shown) > 20 and max(shown) - min(shown) <= 1
    assert len(page.all("article", class_="card")) == sum(shown)
    assert f"{6 * 409 - sum(shown)} of {6 * 409} losses have no card here" in words(page.text)


def test_all_losses_are_shown_where_there_is_room() -> None:
    made = read(html_page(material(count=60, losses=55)))
    assert len(made.all("article", class_="card")) == 220
    assert "left out." not in made.one("section", id="cards").text
    assert read(html_page(material(losses=0))).text.count("No item was lost.") == 4


@given(st.lists(st.lists(st.integers(1, 9), max_size=6), min_size=1, max_size=4), st.integers(0, 40))
def test_cards_are_dealt_in_turn_within_the_room(piles: list[list[int]], room: int) -> None:
    dealt = fitting(piles, int, room)
    assert sum(map(sum, dealt)) <= room
    assert all(pile[: len(taken)] == taken for pile, taken in zip(piles, dealt, strict=True))
    left = room - sum(map(sum, dealt))
    # Each pile ended, or its next card is larger than what was left when its turn came.
    assert all(len(taken) == len(pile) or pile[len(taken)] > left for pile, taken in zip(piles, dealt, strict=True))
