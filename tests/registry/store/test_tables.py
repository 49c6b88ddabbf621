"""The tables beside an evaluation: rows, order, labels, and what a cell says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judges.verdicts import Error, Verdict
from registry.evidence import NewLoss
from registry.store.bundle import Answer, Bundle
from registry.store.load import load_bundle
from registry.store.tables import CELL_LIMIT, answers, findings, label, labels, losses
from tests.registry.store.probe import make_small


def answer(item: str, raw: str = "", **verdict: Any) -> Answer:
    return Answer(Verdict(item_id=item, suite="qa", **({"status": "judged"} | verdict)), raw)


RIGHT: dict[str, Any] = {"strict_ok": True, "tolerant_ok": True}
LABELS: list[tuple[dict[str, Any], str]] = [
    (RIGHT, "ok"),
    ({"primary": "value_wrong"}, "value_wrong"),
    ({"primary": "markdown_fence", "tolerant_ok": True}, "markdown_fence (recovered)"),
    ({"status": "unjudged"}, "unjudged"),
]


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """Two items; fp8 loses both, the second one must pass."""
    bundle = load_bundle(make_small(tmp_path).layout.root)
    wrong = [Error(kind="value_wrong", path="/0/arguments/n", expected="1", got="2")]
    rows = {
        "fp8": [answer("a", "x\ny", primary="value_wrong", errors=wrong), answer("b", primary="no_call")],
        "bf16": [answer("a", "好", **RIGHT), answer("b", "z", **RIGHT)],
        "baseline-again": [answer("b", **RIGHT)],
    }
    compared = (
        bundle.comparisons["fp8"]
        .suites["qa"]
        .model_copy(
            update={
                "new_losses": [
                    NewLoss(item_id="a", label="value_wrong", must_pass=False),
                    NewLoss(item_id="b", label="no_call", must_pass=True),
                ]
            }
        )
    )
    comparison = bundle.comparisons["fp8"].model_copy(update={"suites": {"qa": compared}})
    return replace(bundle, answers=rows, comparisons={**bundle.comparisons, "fp8": comparison})


@pytest.mark.parametrize(("verdict", "said"), LABELS, ids=[said for _, said in LABELS])
def test_a_label_says_what_became_of_an_answer(verdict: dict[str, Any], said: str) -> None:
    assert label(answer("a", **verdict).verdict) == said


def test_labels_stand_side_by_side_baseline_first(bundle: Bundle) -> None:
    table = labels(bundle)
    assert table.columns == ["suite", "item", "bf16", "fp8", "baseline-again"]
    assert table.rows == [["qa", "a", "ok", "value_wrong", ""], ["qa", "b", "ok", "no_call", "ok"]]


def test_losses_hold_both_answers_must_pass_first(bundle: Bundle) -> None:
    table = losses("fp8", bundle)
    assert table.columns[-2:] == ["bf16", "fp8"]
    assert table.rows == [
        ["qa", "b", "no_call", "must pass", "", "z", ""],
        ["qa", "a", "value_wrong", "", "value_wrong at /0/arguments/n: expected 1, got 2", "好", "x y"],
    ]


def test_a_later_pass_over_an_item_has_its_own_row() -> None:
    assert [row[0] for row in answers([answer("a"), answer("a", run=1)]).rows] == ["a", "a#2"]


def test_long_answers_are_cut_and_many_findings_counted() -> None:
    (row,) = answers([answer("a", "x" * (CELL_LIMIT + 7))]).rows
    assert row[1] == "x" * CELL_LIMIT + " … (7 characters more)"
    many = answer("a", errors=[Error(kind="extra_key")] * 8).verdict
    assert findings(many) == "; ".join(["extra_key"] * 5) + "; and 3 more"


def test_a_table_is_json_of_columns_and_rows() -> None:
    table = answers([answer("a", "<b>好</b>", **RIGHT)])
    told = table.as_json()
    assert "好" in told
    assert json.loads(told) == {"columns": table.columns, "data": [["a", "<b>好</b>", "ok", "", "qa"]]}
