"""The HTML report: its sections in order, and what stands in them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pipelines.params import AGAIN
from pipelines.reporting.html.page import html_page
from tests.pipelines.report_html_reader import read
from tests.pipelines.report_material import material, with_decision
from tests.pipelines.report_records import decision

PAGE = read(html_page(material()))


def test_the_sections_come_in_order() -> None:
    page = PAGE
    assert [heading.text for heading in page.all("h2")] == [
        "Verdict per scene",
        "Gates in numbers",
        "Fleet",
        "Plots",
        "Loss cards",
        "Noise floor",
        "Accuracy by category",
        "Format fragility",
        "What differs in the environments",
        "Provenance",
    ]
    targets = {link.attributes["href"][1:] for link in page.all("a")}
    assert targets <= {element.attributes.get("id") for element in page.all()}


@pytest.mark.parametrize(
    "told",
    [
        "Exit code 0 no scene requires a candidate: a release may go ahead",
        "tools is served by fp8",
        "awq-int4 on tools: FAIL, plain Not passed: noninferiority FAIL, must_pass FAIL",
        "-6.25 pp, from -14.62 to 2.03, against a margin of -16",
        "tools fp8 noninferiority tools strict PASS 48 5 2 6.25 -14.62 2.03 16.00 6 15",
        "tools, must_pass: must-pass items: plain",
        "ok float_drift 1 loss",
        "tc-000 value_wrong must pass fp8, tools",
        "Right after lossless recovery: recovered plain.",
        'refund(amount=12900, note="plain")',
        "exact: 42 | plain",
        "value_wrong at /0/arguments/amount: expected plain, got plain",
        "baseline-again tools 6 0 0 0.0 % (0 of 6) 100.0 % (6 of 6)",
        "weight_bits 16 4 8 16 differs",
        "NAME=plain serve --model plain",
        "Settings that differ between the runs: weight_bits.",
        "The model is a stand-in for the one that is to be served.",
        "No load profile was measured (serving/ holds none)",
    ],
)
def test_what_stands_on_the_page(told: str) -> None:
    assert told in PAGE.told


def test_what_differs_is_marked() -> None:
    pile = read(html_page(material())).one("section", aria_labelledby="pile-4-head")
    assert [mark.text for mark in pile.all("mark")] == ["wrong in fp8"] * 3


def test_what_is_broken_is_named() -> None:
    made = with_decision(material(), decision(2, broken=tuple(f"problem {n}" for n in range(25))))
    told = [item.text for item in read(html_page(made)).one("div", class_="warning").all("li")]
    assert told == [*(f"problem {n}" for n in range(20)), "and 5 more, in decision.json"]
    assert read(html_page(made)).all("p", class_="exit-2")


def test_items_that_were_not_judged_are_named() -> None:
    made = material()
    compared = made.bundle.comparisons["fp8"]
    tools = compared.suites["tools"].model_copy(update={"unjudged": ["tc-003", "tc-004"]})
    changed = compared.model_copy(update={"suites": compared.suites | {"tools": tools}})
    bundle = replace(made.bundle, comparisons=made.bundle.comparisons | {"fp8": changed})
    told = [part.told for part in read(html_page(replace(made, bundle=bundle))).all("p", class_="meta")]
    assert "Not judged, and in no figure: tc-003, tc-004." in told


def test_what_the_baseline_loses_when_asked_again_is_named() -> None:
    made = material()
    bundle = replace(made.bundle, comparisons=made.bundle.comparisons | {AGAIN: made.bundle.comparisons["fp8"]})
    assert "on tools: tc-000, tc-001, tc-002" in html_page(replace(made, bundle=bundle))


def test_the_cards_can_be_filtered_by_what_the_data_says_of_them() -> None:
    page = read(html_page(material()))
    told = json.loads(page.one("script", id="data").text)["cards"]
    cards = page.all("article", class_="card")
    assert [card.attributes["id"] for card in cards] == [entry["id"] for entry in told]
    assert told[3] == {
        "id": "card-2-1",
        "candidate": "awq-int4",
        "suite": "tools",
        "label": "value_wrong",
        "must_pass": True,
        "domain": "tools",
        "tags": [],
    }
    form = page.one("form")
    assert "hidden" in form.attributes
    offered = {
        select.attributes["name"]: [option.attributes["value"] for option in select.all("option")]
        for select in form.all("select")
    }
    assert offered["candidate"] == ["", "awq-int4", "fp8"]
    for name, values in offered.items():
        if name != "tag":
            assert set(values) == {"", *(entry[name] for entry in told)}
