"""The data lint: passes on the shipped suites; names file, line and item of every damage."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsets.lint.__main__ import add_to_index, problems
from evalsets.lint.folder import read_folder
from evalsets.lint.index import INDEX
from evalsets.records import InputError

DATA = Path("evalsets/data")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalsets.lint", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def found(folder: Path) -> list[str]:
    """Every fault the lint finds, as it prints them."""
    try:
        return [str(problem) for problem in problems(read_folder(folder))]
    except InputError as error:
        return [str(error)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    return folder


def edit(file: str, line: int, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Change the row that stands on `line` (from 1)."""

    def damage(folder: Path) -> None:
        lines = (folder / file).read_text().splitlines()
        row = json.loads(lines[line - 1])
        change(row)
        lines[line - 1] = json.dumps(row, ensure_ascii=False)
        (folder / file).write_text("\n".join(lines) + "\n")

    return damage


def lines_of(file: str, change: Callable[[list[str]], Any]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        lines = (folder / file).read_text().splitlines()
        change(lines)
        (folder / file).write_text("\n".join(lines) + "\n")

    return damage


def cut(lines: list[str]) -> None:
    lines[6] = lines[6][:-5]


def put_toolset(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = json.loads((folder / "toolsets.json").read_text())
        change(content["toolsets"][0])
        (folder / "toolsets.json").write_text(json.dumps(content, ensure_ascii=False, indent=2))

    return damage


def reach_out(toolset: dict[str, Any]) -> None:
    toolset["tools"][0]["function"]["parameters"]["$ref"] = "http://example.invalid/schema"


def repeat_in_calibration(folder: Path) -> None:
    asked = json.loads((folder / "tool_calls.jsonl").read_text().splitlines()[0])["messages"][1]["content"]
    edit("calibration.jsonl", 1, lambda row: row["messages"][1].update(content=asked))(folder)


def test_the_shipped_data_is_clean_and_its_make_up_is_printed() -> None:
    done = lint(DATA)
    assert done.returncode == 0, done.stderr
    for text in ("qa.jsonl: 640 items", "tool_calls.jsonl: 180 items", "dev/qa.jsonl: 64 items", "256 rows"):
        assert text in done.stdout
    assert "note: " not in done.stdout


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (edit("tool_calls.jsonl", 1, lambda row: row.update(toolset="none")), ":1: tc-0001: no toolset 'none'"),
        (edit("tool_calls.jsonl", 2, lambda row: row["calls"][0].update(name="nope")), ":2: tc-0002: refunds has no"),
        (edit("tool_calls.jsonl", 1, lambda row: row["calls"][0]["args"].clear()), ":1: tc-0001: createRefund: requ"),
        (edit("tool_calls.jsonl", 1, lambda row: row.update(expect="no_call")), ":1: tc-0001: expect is no_call"),
        (edit("tool_calls.jsonl", 1, lambda row: row["tags"].append("special")), ":1: tc-0001: tagged special, but"),
        (edit("tool_calls.jsonl", 1, lambda row: row.update(split="dev")), ":1: tc-0001: split is not release"),
        (edit("qa.jsonl", 9, lambda row: row.update(answers=["0"])), "qa.jsonl:9: qa-svc-0009 has changed under its"),
        (edit("qa.jsonl", 9, lambda row: row.update(id="qa-svc-0008")), "qa.jsonl:9: qa-svc-0008 repeats the id of l"),
        (lines_of("qa.jsonl", lambda lines: lines.pop(56)), "qa.jsonl:57: qa-svc-0057 stood here and is gone"),
        (lines_of("qa.jsonl", lambda lines: lines.insert(5, lines[4])), "qa.jsonl:6: qa-svc-0005 repeats the id of"),
        (lines_of("calibration.jsonl", lambda lines: lines.pop(3)), "calibration.jsonl:4: cal-0004 stood here"),
        (lines_of("dev/tool_calls.jsonl", lambda lines: lines.pop(0)), "calls.jsonl:1: dev-tc-0001 stood here and"),
        (lines_of("qa.jsonl", cut), "qa.jsonl:7: not JSON"),
        (repeat_in_calibration, "calibration.jsonl:1: cal-0001 repeats tc-0001"),
        (put_toolset(reach_out), "is not local; copy it into the schema"),
        (put_toolset(lambda toolset: toolset["tools"].pop()), "toolsets.json:4: refunds has changed under its id"),
    ],
)
def test_each_damage_is_named(data: Path, damage: Callable[[Path], None], says: str) -> None:
    damage(data)
    assert any(says in text for text in found(data)), found(data)


def test_the_command_fails_with_the_line(data: Path) -> None:
    lines_of("tool_calls.jsonl", lambda lines: lines.pop(99))(data)
    done = lint(data)
    assert done.returncode == 2
    assert f"error: {data}/tool_calls.jsonl:100: tc-0100 stood here and is gone" in done.stderr
    assert "179 active items instead of 180" in done.stderr


def test_a_twin_is_named(data: Path) -> None:
    row = json.loads((data / "tool_calls.jsonl").read_text().splitlines()[9])
    twin = row | {"id": "tc-9001", "cluster": "elsewhere"}
    lines_of("tool_calls.jsonl", lambda lines: lines.append(json.dumps(twin, ensure_ascii=False)))(data)
    assert any(f":181: tc-9001: 100 % the same request as {row['id']}" in text for text in found(data))


def test_new_rows_enter_the_index_and_changed_ones_do_not(data: Path) -> None:
    new = json.loads((data / "qa.jsonl").read_text().splitlines()[0])
    new |= {"id": "qa-svc-9001", "cluster": "doc-new", "messages": [{"role": "user", "content": "另一个问题？"}]}
    lines_of("qa.jsonl", lambda lines: lines.append(json.dumps(new, ensure_ascii=False)))(data)
    assert any("qa.jsonl:641: qa-svc-9001 is not in index.txt" in text for text in found(data))
    add_to_index(read_folder(data))
    assert [text for text in found(data) if "active items" not in text and "qa-svc-9001" in text] == []
    before = (data / INDEX).read_bytes()
    edit("qa.jsonl", 3, lambda row: row.update(answers=["0"]))(data)
    with pytest.raises(InputError, match=r"qa\.jsonl:3: qa-svc-0003 has changed"):
        add_to_index(read_folder(data))
    assert (data / INDEX).read_bytes() == before


def test_retiring_an_item_is_no_change(data: Path) -> None:
    edit("qa.jsonl", 5, lambda row: row.update(status="retired"))(data)
    assert [text for text in found(data) if "active items" not in text and "domain service" not in text] == []


def test_an_index_that_is_not_the_pinned_one_is_named(data: Path) -> None:
    (data / INDEX).write_text((data / INDEX).read_text().replace("qa-svc-0003", "qa-svc-0002", 1))
    assert any("is not the index that suites.yaml pins" in text for text in found(data))


def test_a_folder_of_a_users_own_says_what_is_missing(tmp_path: Path) -> None:
    done = lint(tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path}: no qa.jsonl (questions with gold answers, a QaItem a line), no tool_calls" in done.stderr
    for name in ("qa.jsonl", "tool_calls.jsonl", "toolsets.json"):
        shutil.copy(DATA / name, tmp_path)
    done = lint(tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("suites.yaml", "index.txt", "calibration.jsonl"):
        assert f"note: no {name}: " in done.stdout
