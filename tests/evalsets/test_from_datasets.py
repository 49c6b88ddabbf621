"""Suites out of datasets: the real library on local files, and clear refusals."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsets.from_datasets import RowMapping, items_of, value_of
from evalsets.items import QaItem, ToolItem
from evalsets.load import load_toolsets
from evalsets.records import InputError, read_rows

QA_MAPPING: dict[str, Any] = {
    "suite": "qa",
    "source": {"path": "json", "data_files": "rows.jsonl"},
    "item": {
        "id": "faq-$number",
        "domain": "service",
        "cluster": "$article",
        "split": "release",
        "lang": "$lang",
        "tags": ["numeric"],
        "messages": [{"role": "user", "content": "【资料】$text\n\n【问题】$question（单位：$$）"}],
        "answers": ["$answer"],
        "match": {"kind": "numeric", "normalisers": ["ascii_width"], "find": "only", "tolerance": "0"},
    },
}
QA_ROW = {"number": "001", "article": "a", "lang": "zh", "text": "运费 12 元。", "question": "运费？", "answer": "12"}
TOOL = {"name": "refund", "description": "", "parameters": {"type": "object", "properties": {}, "required": []}}
TOOL_MAPPING: dict[str, Any] = {
    "suite": "tools",
    "source": {"path": "json", "data_files": "rows.jsonl"},
    "tools": "tools",
    "item": {
        "id": "call-$number",
        "domain": "tools",
        "cluster": "$area",
        "split": "release",
        "lang": "en",
        "tags": ["single"],
        "messages": [{"role": "user", "content": "$request"}],
        "expect": "call",
        "calls": {"gold_calls": "answers"},
    },
}
TOOL_ROW = {
    "number": "1",
    "area": "refunds",
    "request": "Refund it.",
    "tools": json.dumps([TOOL]),
    "answers": '[{"name": "refund", "arguments": "{\\"amount\\": 12900.00}"}]',
}


def convert(folder: Path, mapping: dict[str, Any], rows: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = mapping["source"] | {"data_files": str(folder / "rows.jsonl")}
    (folder / "mapping.yaml").write_text(yaml.safe_dump(mapping | {"source": source}))
    command = [
        sys.executable,
        "-m",
        "evalsets.from_datasets",
        str(folder / "mapping.yaml"),
        "--out",
        str(folder / "out"),
    ]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1"}
    )


def test_questions_come_out_of_a_dataset(tmp_path: Path) -> None:
    done = convert(tmp_path, QA_MAPPING, [QA_ROW, QA_ROW | {"number": "002", "answer": "13"}])
    assert done.returncode == 0, done.stderr
    items = read_rows(tmp_path / "out" / "qa.jsonl", QaItem)
    assert [(item.id, item.answers) for item in items] == [("faq-001", ["12"]), ("faq-002", ["13"])]
    assert items[0].messages[0].content == "【资料】运费 12 元。\n\n【问题】运费？（单位：$）"


def test_tool_calls_come_with_their_toolsets_and_exact_numbers(tmp_path: Path) -> None:
    done = convert(tmp_path, TOOL_MAPPING, [TOOL_ROW, TOOL_ROW | {"number": "2"}])
    assert done.returncode == 0, done.stderr
    items = read_rows(tmp_path / "out" / "tool_calls.jsonl", ToolItem)
    assert set(load_toolsets(tmp_path / "out" / "toolsets.json")) == {items[0].toolset} == {items[1].toolset}
    assert str(items[0].calls[0].args["amount"].any_of[0]) == "12900.00"


@pytest.mark.parametrize(
    ("change", "row", "says"),
    [
        ({"id": "faq-$nomber"}, {}, "row 0: no column 'nomber'; the dataset has number, article"),
        ({"domain": "sales"}, {}, "row 0: domain: "),
        ({"tags": {"from_json": "text"}}, {}, "row 0: Expecting value"),
        ({"answers": []}, {}, "row 0: answers: "),
        ({}, {"number": "001"}, "ids occur more than once: faq-001"),
    ],
)
def test_what_makes_no_item_is_named(change: dict[str, Any], row: dict[str, str], says: str) -> None:
    mapping = RowMapping.model_validate(QA_MAPPING | {"item": QA_MAPPING["item"] | change})
    with pytest.raises(InputError, match=r"m\.yaml") as caught:
        items_of(mapping, iter([QA_ROW, QA_ROW | {"number": "002"} | row]), "m.yaml")
    assert says in str(caught.value)


def test_nothing_is_written_on_an_error(tmp_path: Path) -> None:
    done = convert(tmp_path, QA_MAPPING, [QA_ROW, QA_ROW])
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert not (tmp_path / "out").exists()


def test_a_source_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    mapping = QA_MAPPING | {"source": {"path": "nosuchbuilder"}}
    done = convert(tmp_path, mapping, [QA_ROW])
    assert done.returncode == 2
    assert "source nosuchbuilder: cannot be loaded" in done.stderr


def test_a_hub_source_needs_a_pinned_revision() -> None:
    with pytest.raises(ValueError, match="40-digit commit"):
        RowMapping.model_validate(QA_MAPPING | {"source": {"path": "org/name", "revision": "main"}})


def test_a_pattern_keeps_types_and_fractions() -> None:
    row = {"n": 3, "f": 0.1, "flag": True}
    assert value_of({"a": "$n", "b": ["$flag", "n=$n"], "c": 7}, row) == {"a": 3, "b": [True, "n=3"], "c": 7}
    assert str(value_of("$f", row)) == "0.1"


def test_the_documented_mappings_are_valid() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", Path("docs/suites.md").read_text(), re.DOTALL)
    assert [RowMapping.model_validate(yaml.safe_load(block)).suite for block in blocks] == ["qa", "tools"]
