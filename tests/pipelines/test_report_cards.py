"""Loss cards: their order, their number, what they show, and how they give way to the size of the page."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evalsets.items import GoldArgument, GoldCall
from judges.verdicts import Error, Verdict
from pipelines.reporting.loss_cards import MAX_CARDS, findings, gold, ordered, piles
from pipelines.reporting.page import MAX_BYTES, page
from registry.evidence import NewLoss
from tests.pipelines.report_material import answers, material
from tests.pipelines.report_settings import tool_item


def test_cards_are_ordered_by_must_pass_and_precedence() -> None:
    losses = [
        NewLoss(item_id="a", label="value_wrong", must_pass=False),
        NewLoss(item_id="b", label="from_another_judge", must_pass=False),
        NewLoss(item_id="c", label="no_call", must_pass=False),
        NewLoss(item_id="d", label="value_wrong", must_pass=True),
        NewLoss(item_id="e", label="float_drift", must_pass=False),
        NewLoss(item_id="f", label="no_call", must_pass=False),
    ]
    assert [loss.item_id for loss in ordered(losses)] == ["d", "c", "f", "e", "a", "b"]


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"expect": "no_call", "calls": []}, "no call"),
        ({"expect": "either"}, "no call, or:\nrefund(amount=12900.00 | null (or left out))\nclose()"),
        ({"order": "strict"}, "in this order:\nrefund(amount=12900.00 | null (or left out))\nclose()"),
    ],
)
def test_gold_calls_read_as_calls(changes: dict[str, Any], shown: str) -> None:
    amount = GoldArgument(any_of=[Decimal("12900.00"), None], omit_ok=True)
    calls = [GoldCall(name="refund", args={"amount": amount}), GoldCall(name="close", args={})]
    assert gold(tool_item(1, "x").model_copy(update={"calls": calls} | changes)) == shown


def test_findings_are_a_few_lines() -> None:
    errors = [Error(kind="extra_key", path=f"/0/arguments/{n}") for n in range(7)]
    verdict = Verdict(item_id="tc-000", suite="tools", status="judged", errors=[Error(kind="no_call"), *errors])
    lines = findings(verdict).split("\n")
    assert lines[:2] == ["no_call", "extra_key at /0/arguments/0"]
    assert lines[-1] == "and 3 more"


def test_a_pile_has_twenty_cards_at_most_and_says_what_it_leaves_out() -> None:
    made = material(count=30, losses=25)
    assert [(len(pile.cards), pile.losses) for pile in piles(made)] == [(MAX_CARDS, 25)] * 4
    shown = page(made)
    assert shown.count("25 lost, 20 shown, 5 left out.") == 4
    assert shown.count("\n#### ") == 80


def test_cards_give_way_to_the_size_and_every_pile_keeps_its_best() -> None:
    run = material(count=30, losses=25)
    made = page(replace(run, responses=answers(run.items, "长文" * 300)))
    assert len(made.encode()) <= MAX_BYTES
    counts = [(int(shown), int(left)) for shown, left in re.findall(r"25 lost, (\d+) shown, (\d+) left out", made)]
    assert len(counts) == 4
    assert all(0 < shown < MAX_CARDS and shown + left == 25 for shown, left in counts)
    assert made.count("\n#### ") == sum(shown for shown, _ in counts)
    assert max(counts)[0] - min(counts)[0] <= 1
    assert made.count("**must pass**") == 2


def test_no_loss_is_said() -> None:
    assert page(material(losses=0)).count("No item was lost.") == 4
