"""The lint against judge and statistics: quiet on the shipped suites, names the item of each damage."""

from __future__ import annotations

from pathlib import Path

from evalsets.items import GoldArgument, ToolItem
from evalsets.load import load_qa, load_tools, load_toolsets
from pipelines.lint_suites import changed_rows, qa_problems, size_table, tool_problems

DATA = Path("evalsets/data")
QA = load_qa(DATA / "qa.jsonl")
TOOLS = load_tools(DATA / "tool_calls.jsonl")
TOOLSETS = load_toolsets(DATA / "toolsets.json")


def test_the_shipped_golds_are_right_and_every_mutation_is_named() -> None:
    assert list(qa_problems(QA)) == []
    assert list(tool_problems(TOOLS, TOOLSETS, "hermes")) == []
    assert changed_rows(DATA) == []


def test_a_gold_that_the_judge_refuses_is_named() -> None:
    item = next(item for item in QA if item.match.kind == "numeric")
    broken = item.model_copy(update={"answers": [*item.answers, "not a number"]})
    assert list(qa_problems([broken])) == [
        (item.id, "gold answer 'not a number' is judged no_answer; correct answers or normalisers")
    ]


def with_argument(item: ToolItem, key: str, value: str) -> ToolItem:
    call = item.calls[0]
    arguments = call.args | {key: GoldArgument(any_of=[value])}
    return item.model_copy(update={"calls": [call.model_copy(update={"args": arguments}), *item.calls[1:]]})


def test_a_tool_gold_that_breaks_its_schema_is_named() -> None:
    item = next(item for item in TOOLS if item.calls)
    found = list(tool_problems([with_argument(item, "undeclared", "x")], TOOLSETS, "hermes"))
    assert found
    assert found[0][0] == item.id
    assert found[0][1].startswith(f"gold of {item.calls[0].name}: ")
    assert "undeclared" in found[0][1]


def test_the_size_table_says_what_can_be_decided() -> None:
    text = size_table("tools", TOOLS)
    clusters = len({item.cluster for item in TOOLS})
    assert text.startswith(f"tools: {len(TOOLS)} items in {clusters} clusters of ")
    assert text.count(" pp") == 4
