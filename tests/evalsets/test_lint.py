"""The data lint: passes on the shipped suites, names the line or item of each damage."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path("evalsets/data")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalsets.lint", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_shipped_data_is_clean() -> None:
    done = lint(DATA)
    assert done.returncode == 0, done.stderr
    assert "qa.jsonl: " in done.stdout
    assert "tool_calls.jsonl: " in done.stdout


def edit_first_call(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / "tool_calls.jsonl"
        lines = path.read_text().splitlines()
        row = json.loads(lines[0])
        change(row)
        path.write_text("\n".join([json.dumps(row, ensure_ascii=False), *lines[1:]]) + "\n")

    return damage


def duplicate_line(folder: Path) -> None:
    path = folder / "qa.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[4]]) + "\n")


def break_line(folder: Path) -> None:
    path = folder / "qa.jsonl"
    lines = path.read_text().splitlines()
    lines[6] = lines[6][:-5]
    path.write_text("\n".join(lines) + "\n")


def repeat_in_calibration(folder: Path) -> None:
    path = folder / "calibration.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    asked = json.loads((folder / "qa.jsonl").read_text().splitlines()[0])["messages"]
    users = [message for message in rows[0]["messages"] if message["role"] == "user"]
    users[0]["content"] = next(message["content"] for message in asked if message["role"] == "user")
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def remote_reference(folder: Path) -> None:
    path = folder / "toolsets.json"
    content = json.loads(path.read_text())
    content["toolsets"][0]["tools"][0]["function"]["parameters"]["$ref"] = "http://example.invalid/schema"
    path.write_text(json.dumps(content, ensure_ascii=False))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (edit_first_call(lambda row: row.update(toolset="none")), "tc-0001: no toolset 'none'"),
        (edit_first_call(lambda row: row["calls"][0].update(name="nope")), "tc-0001"),
        (edit_first_call(lambda row: row["calls"][0]["args"].clear()), "has no gold value"),
        (edit_first_call(lambda row: row.update(expect="no_call")), "tc-0001: expect is no_call"),
        (duplicate_line, "qa-svc-0005"),
        (break_line, "qa.jsonl:7"),
        (repeat_in_calibration, "repeats qa-svc-0001"),
        (remote_reference, "is not local"),
    ],
)
def test_each_damage_is_named(tmp_path: Path, damage: Callable[[Path], None], says: str) -> None:
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    damage(folder)
    done = lint(folder)
    assert done.returncode != 0
    assert says in done.stderr
