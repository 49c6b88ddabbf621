"""The public cases and the json_repair traps: which verdict each must get, and the command that judges a file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from judges.cases import judge_case, main, read_line
from judges.taxonomy import LABELS

DATA = Path(__file__).parent / "data"
CASES = [read_line(line) for line in (DATA / "cases.jsonl").read_text("utf-8").splitlines()]
TRAPS = [read_line(line) for line in (DATA / "json_repair_traps.jsonl").read_text("utf-8").splitlines()]

# Kinds of the case file that the taxonomy names otherwise. The rest differ by a prefix only.
KINDS = {
    "syntax_extra_data": ["json_syntax.trailing_text", "json_syntax.concatenated", "json_syntax.extra_brace"],
    "syntax_truncated": ["truncated"],
    "syntax_garbage": ["garbage"],
    "syntax_fullwidth_quotes": ["json_syntax.fullwidth"],
    "syntax_fullwidth_chars": ["json_syntax.fullwidth"],
    "syntax_special_token_leak": ["json_syntax.special_token"],
    "syntax_unit_suffix": ["json_syntax.unit"],
    "num_runaway": ["runaway_digits"],
    "wrap_stringified_value": ["stringified"],
    "wrap_wrong_inner_format": ["inner_format"],
    "wrap_tag_leak_in_value": [],  # its alternatives name it
    "structure_flattened": [],
}
PREFIXES = {"syntax_": "json_syntax.", "wrap_": "", "num_": "", "value_": ""}


def labels(kind: str) -> list[str]:
    """The labels of the taxonomy that a kind of the case file stands for."""
    if kind in KINDS:
        return KINDS[kind]
    if kind in LABELS:
        return [kind]
    prefix = next(prefix for prefix in PREFIXES if kind.startswith(prefix))
    return [PREFIXES[prefix] + kind.removeprefix(prefix)]


def named_right(row: Mapping[str, Any], primary: str | None) -> bool:
    if row["verdict"] == "correct":
        return primary is None
    return primary in [label for kind in (row["kind"], *row["alt_kinds"]) for label in labels(kind)]


def test_every_kind_of_the_file_is_mapped_to_labels_that_exist() -> None:
    kinds = {kind for row in CASES for kind in (row["kind"], *row["alt_kinds"])} - {"ok"}
    assert {label for kind in kinds for label in labels(kind)} <= set(LABELS)


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_case(row: Mapping[str, Any]) -> None:
    verdict = judge_case(row)
    assert verdict.strict_ok == (row["verdict"] == "correct")
    assert verdict.tolerant_ok or not verdict.strict_ok
    if row["recover"] != "optional":
        assert verdict.tolerant_ok == (row["verdict"] == "correct" or row["recover"] == "safe")
    assert named_right(row, verdict.primary), [error.kind for error in verdict.errors]


def test_cases_are_all_there() -> None:
    assert len(CASES) == 158
    assert sum(row["verdict"] == "correct" for row in CASES) == 29
    assert len(TRAPS) == 28


def _as_case(trap: Mapping[str, Any], target: Any) -> dict[str, Any] | None:
    """A case that wants `target` of the trap's input, or None where the target is no call."""
    calls = target if isinstance(target, list) else [target]
    if not all(isinstance(call, dict) for call in calls):
        return None
    form = "hermes" if "<tool_call>" in trap["input"] else "bare" if '"name"' in trap["input"] else "arguments"
    whole = form != "arguments"
    if whole and not all(isinstance(call.get("arguments"), dict) for call in calls):
        return None
    wanted = [call if whole else {"name": "f", "arguments": call} for call in calls]
    properties = {key: {"type": _type(value)} for call in wanted for key, value in call["arguments"].items()}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": properties}}]
    return {
        "id": trap["id"],
        "tool_schema": tools,
        "expected": wanted,
        "raw": trap["input"],
        "form": form,
        "called_name": "f",
    }


def _type(value: Any) -> str:
    names = {bool: "boolean", str: "string", list: "array", dict: "object", int: "number", Decimal: "number"}
    return names[type(value)]


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap["id"])
def test_no_trap_passes_as_what_a_repair_made_of_it(trap: Mapping[str, Any]) -> None:
    case = _as_case(trap, trap["got"])
    assert case is None or not judge_case(case).tolerant_ok


def test_traps_with_one_lossless_reading_pass_as_what_was_wanted() -> None:
    wanted = {trap["id"]: _as_case(trap, trap["wanted"]) for trap in TRAPS}
    passing = {id_ for id_, case in wanted.items() if case and judge_case(case).tolerant_ok}
    # A trailing comma, two objects in a row, two tagged calls, full-width structure; no other.
    assert passing == {"JR-01", "JR-05", "JR-06", "JR-08"}


def test_command_prints_a_verdict_a_line_in_input_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(DATA / "cases.jsonl")]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["id"] for line in lines] == [row["id"] for row in CASES]
    assert set(lines[0]) == {"id", "strict_ok", "tolerant_ok", "primary", "errors"}
    assert lines[0]["primary"] == "json_syntax.extra_brace"


def test_command_names_unreadable_rows_and_judges_the_rest(tmp_path: Path) -> None:
    good = (DATA / "cases.jsonl").read_text("utf-8").splitlines()[0]
    rows = ["{not json", good, '{"id": "x"}', json.dumps({**json.loads(good), "form": "yaml"})]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "judges.cases", str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 1
    assert [f"{path}:{number}:" in done.stderr for number in (1, 2, 3, 4)] == [True, False, True, True]


UNREADABLE = [
    ("[" * 100_000, "nested too deeply"),
    ("[1]", "not a JSON object"),
    ('{"tool_schema": []}', "expected is missing or not a list"),
    ('{"tool_schema": [{"name": "f"}], "expected": []}', "parameters is missing or not an object"),
    ('{"tool_schema": [], "expected": [], "form": "bare", "raw": 5}', "raw is missing or not a str"),
    ('{"tool_schema": [], "expected": [], "form": "yaml"}', "form 'yaml' is none of"),
]


@pytest.mark.parametrize(("row", "message"), UNREADABLE)
def test_an_unreadable_row_says_what_is_wrong(
    row: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(row, "utf-8")
    assert main([str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and f"{path}:1: {message}" in captured.err


def test_a_lone_surrogate_is_printed_as_its_escape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    row = '{"id": "\\ud800", "tool_schema": [], "expected": [], "raw": "<tool_call>\\ud800", "form": "hermes"}'
    path.write_text(row, "utf-8")
    assert main([str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "\ud800"


def test_command_without_a_file_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main([str(tmp_path / "none.jsonl")]) == 2
    assert "cannot be read" in capsys.readouterr().err
