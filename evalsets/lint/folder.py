"""A folder of suites, read strictly, with the line of every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalsets.items import CalibrationRow, Item, QaItem, ToolItem, Toolset, ToolsetFile
from evalsets.records import InputError, read_record, read_rows, unique_by_id

QA = "qa.jsonl"
TOOLS = "tool_calls.jsonl"
TOOLSETS = "toolsets.json"
CALIBRATION = "calibration.jsonl"
DEV = "dev"
PURPOSE = {
    QA: "questions with gold answers, a QaItem a line",
    TOOLS: "requests with gold calls, a ToolItem a line",
    TOOLSETS: "the tools that those requests offer, a ToolsetFile",
    CALIBRATION: "conversations that calibration sees, a CalibrationRow a line; none of a suite's",
}


@dataclass(frozen=True)
class Problem:
    """One fault: the file, its line (0: the file as a whole), what is wrong in which item, and what to do."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"


@dataclass(frozen=True)
class Folder:
    """The rows of a folder, each file's in file order: row i stands on line i + 1."""

    path: Path
    qa: list[QaItem]
    tools: list[ToolItem]
    dev_qa: list[QaItem]
    dev_tools: list[ToolItem]
    calibration: list[CalibrationRow]
    toolsets: list[Toolset]

    def rows(self) -> dict[str, Sequence[Item | CalibrationRow]]:
        """Every JSONL file of the folder by its name, with its rows; a dev split's file as `dev/<name>`."""
        found: dict[str, Sequence[Item | CalibrationRow]] = {QA: self.qa, TOOLS: self.tools}
        if self.dev_qa or self.dev_tools:
            found |= {f"{DEV}/{QA}": self.dev_qa, f"{DEV}/{TOOLS}": self.dev_tools}
        return found | {CALIBRATION: self.calibration}

    def items(self) -> list[Item]:
        """The items of every split."""
        return [*self.qa, *self.tools, *self.dev_qa, *self.dev_tools]

    def offered(self) -> dict[str, Toolset]:
        """Toolsets by name. Raises `InputError` for a name that occurs twice."""
        return unique_by_id(self.toolsets, "name", str(self.path / TOOLSETS))

    def problem(self, file: str, row_id: str, text: str) -> Problem:
        """A problem of the row `row_id` of `file` (for toolsets: of that name)."""
        return Problem(self.path / file, self.line(file, row_id), text)

    def line(self, file: str, row_id: str) -> int:
        """The last line on which a row of this id stands, from 1; 0 where there is none."""
        if file == TOOLSETS:
            lines = (self.path / file).read_text("utf-8").splitlines()
            return next((n for n, line in enumerate(lines, 1) if line.strip() == f'"name": "{row_id}",'), 0)
        return max((n for n, row in enumerate(self.rows()[file], 1) if row.id == row_id), default=0)


def read_folder(path: Path) -> Folder:
    """Read a folder of suites. Raises `InputError` for a bad line, or saying which files are missing and what they are.

    The dev split is optional; calibration, too, may be missing where nothing is calibrated.
    """
    if missing := [f"{name} ({PURPOSE[name]})" for name in (QA, TOOLS, TOOLSETS) if not (path / name).is_file()]:
        raise InputError(f"{path}: no {', no '.join(missing)}; the types are in evalsets/items.py")
    dev = path / DEV
    return Folder(
        path=path,
        qa=read_rows(path / QA, QaItem),
        tools=read_rows(path / TOOLS, ToolItem),
        dev_qa=read_rows(dev / QA, QaItem) if dev.is_dir() else [],
        dev_tools=read_rows(dev / TOOLS, ToolItem) if dev.is_dir() else [],
        calibration=read_rows(path / CALIBRATION, CalibrationRow) if (path / CALIBRATION).is_file() else [],
        toolsets=read_record(path / TOOLSETS, ToolsetFile).toolsets,
    )
