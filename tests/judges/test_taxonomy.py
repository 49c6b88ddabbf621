"""The table of labels: complete, in the order of precedence, equal to its page, and true of its own examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalsets.items import Message, NumericMatch, QaItem
from evalsets.responses import Response
from judges.cases import judge_case, read_line
from judges.labels import EXAMPLE_TOOLS, STAGES, Label
from judges.qa import judge_answer
from judges.taxonomy import LABELS, family, page, rank

EXAMPLES = [label for label in LABELS.values() if label.example is not None]
WITHOUT_EXAMPLE = {"infra", "truncated", "call_order"}  # what no answer alone can show


def test_page_is_the_table() -> None:
    path = Path(__file__).parents[2] / "docs" / "taxonomy.md"
    assert path.read_text("utf-8") == page(), "run: python -m judges.taxonomy > docs/taxonomy.md"


def test_labels_stand_in_the_order_of_the_stages() -> None:
    stages = [STAGES.index(label.stage) for label in LABELS.values()]
    assert stages == sorted(stages)
    assert rank("infra") < rank("garbage") < rank("no_call") < rank("tag_missing") < rank("json_syntax.not_json")
    assert rank("json_syntax.not_json") < rank("missing_call") < rank("tool_name_case") < rank("key_case")
    assert rank("stringified") < rank("type_error") < rank("precision_loss") < rank("value_wrong")


def test_syntax_labels_are_placed_by_their_offset() -> None:
    assert rank("json_syntax.unit", (3, 4)) < rank("json_syntax.trailing_comma", (9, 10))


def test_families() -> None:
    numbers = {"float_drift", "precision_loss", "lost_digits", "runaway_digits"}
    assert {name for name in LABELS if family(name) == "numbers"} == numbers
    assert {name for name in LABELS if family(name) == "identifiers"} == {"id_drift"}
    keys = {"key_case", "key_renamed", "extra_key", "enum_case", "enum_invalid"}
    assert {name for name in LABELS if family(name) == "keys_and_enums"} == keys
    assert all((family(name) == "json_syntax") == name.startswith("json_syntax.") for name in LABELS)


def test_only_what_no_answer_shows_lacks_an_example() -> None:
    assert {name for name, label in LABELS.items() if label.example is None} == WITHOUT_EXAMPLE


def primary(label: Label, answer: str) -> str:
    """The primary label of an answer to a label's example question; `ok` where it is strictly right."""
    if label.form == "qa":
        match = NumericMatch(kind="numeric", normalisers=[], find="only", tolerance="0")
        item = QaItem(
            id="qa-001",
            domain="service",
            cluster="c",
            split="release",
            lang="en",
            messages=[Message(role="user", content="What does it cost?")],
            answers=[label.gold],
            match=match,
        )
        return judge_answer(item, Response(item_id=item.id, suite="qa", status="ok", raw=answer)).primary or "ok"
    gold: Any = [] if label.gold == "none" else read_line(f'{{"gold": {label.gold}}}')["gold"]
    golds = gold if isinstance(gold, list) else [gold]
    case = {
        "tool_schema": [{"name": name, "parameters": parameters} for name, parameters in EXAMPLE_TOOLS.items()],
        "expected": [{"name": "refund", "arguments": arguments} for arguments in golds],
        "raw": json.loads(answer) if label.form == "tool_calls" else answer,
        "form": label.form,
        "called_name": "refund",
    }
    return judge_case(case).primary or "ok"


@pytest.mark.parametrize("label", EXAMPLES, ids=lambda label: label.name)
def test_example_and_near_miss(label: Label) -> None:
    assert label.example is not None and label.near_miss is not None
    assert primary(label, label.example) == label.name
    assert primary(label, label.near_miss) == label.near_miss_is != label.name
