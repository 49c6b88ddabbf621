"""Lint of the data alone: `python -m evalsets.lint` checks a folder of suites and prints what it is made of.

It reads `qa.jsonl`, `tool_calls.jsonl`, `toolsets.json`, `calibration.jsonl` and `dev/` strictly, holds every row to
`index.txt` and the whole to `suites.yaml`, and looks for golds that cannot be right, twins, and overlap between
calibration and suites. Each fault is named by file, line and item. What needs the judge or statistics is checked by
`python -m pipelines.lint_suites`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from evalsets.lint.declaration import SUITES, makeup_problems, read_suites
from evalsets.lint.folder import CALIBRATION, DEV, QA, TOOLS, TOOLSETS, Folder, Problem, read_folder
from evalsets.lint.golds import schema_problems, tool_problems
from evalsets.lint.index import INDEX, index_of, index_problems, index_text, lost_or_changed, read_index
from evalsets.lint.overlap import calibration_overlap, near_duplicates
from evalsets.lint.tables import folder_tables
from evalsets.records import InputError, file_sha256, write_atomic

DATA = Path("evalsets/data")


def main() -> None:
    """Lint a folder of suites; exit code 0 when clean, 2 otherwise."""
    parser = argparse.ArgumentParser(
        prog="python -m evalsets.lint", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="folder of the suites (%(default)s)")
    parser.add_argument("--add-to-index", action="store_true", help="write rows that are new into the index, then lint")
    given = parser.parse_args()
    try:
        folder = read_folder(given.folder)
        if given.add_to_index:
            add_to_index(folder)
        found = list(problems(folder))
    except InputError as error:
        parser.exit(2, f"error: {error}\n")
    if all(item.toolset in folder.offered() for item in folder.tools):
        print(folder_tables(folder))
    for text in unchecked(folder):
        print(f"note: {text}")
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    sys.exit(2 if found else 0)


def problems(folder: Folder) -> Iterator[Problem]:
    """Every fault of a folder of suites. Raises `InputError` for an id or a name that stands twice."""
    new = index_of(folder)
    offered = folder.offered()
    yield from _pinned(folder)
    if (folder.path / INDEX).is_file():
        yield from index_problems(folder, read_index(folder.path / INDEX), new)
    yield from _splits(folder)
    for file, items in ((TOOLS, folder.tools), (f"{DEV}/{TOOLS}", folder.dev_tools)):
        yield from (folder.problem(file, row, f"{row}: {text}") for row, text in tool_problems(items, offered))
    yield from (folder.problem(TOOLSETS, row, text) for row, text in schema_problems(folder.toolsets))
    yield from (_of_item(folder, row, text) for row, text in near_duplicates(folder.items()))
    overlap = calibration_overlap(folder.items(), folder.calibration)
    yield from (folder.problem(CALIBRATION, row, f"{row} {text}") for row, text in overlap)
    known = all(item.toolset in offered for item in [*folder.tools, *folder.dev_tools])
    if (folder.path / SUITES).is_file() and known:
        yield from makeup_problems(folder, read_suites(folder.path / SUITES))


def unchecked(folder: Folder) -> Iterator[str]:
    """What a folder lacks, and what is therefore not checked."""
    for name, loss in (
        (SUITES, "nothing says how many items of what kind there should be"),
        (INDEX, "a row that is lost or changed goes unnoticed; --add-to-index writes one"),
        (CALIBRATION, "quantization needs the profile's calibration.file from elsewhere"),
    ):
        if not (folder.path / name).is_file():
            yield f"no {name}: {loss}"


def add_to_index(folder: Folder) -> None:
    """Write the index with the folder's new rows and pin it in `suites.yaml`.

    Raises `InputError`, and writes nothing, where an indexed row is gone or has changed.
    """
    path, suites = folder.path / INDEX, folder.path / SUITES
    new = index_of(folder)
    old = read_index(path) if path.is_file() else {}
    if lost_or_changed(old, new):
        raise InputError("\nerror: ".join(str(problem) for problem in index_problems(folder, old, new)))
    write_atomic(path, index_text(new).encode())
    if suites.is_file():
        pinned = re.sub(r"(?m)^index_sha256:.*$", f"index_sha256: {file_sha256(path)}", suites.read_text("utf-8"))
        write_atomic(suites, pinned.encode())


def _pinned(folder: Folder) -> Iterator[Problem]:
    suites, index = folder.path / SUITES, folder.path / INDEX
    if suites.is_file():
        wanted = read_suites(suites).index_sha256
        if not index.is_file() or file_sha256(index) != wanted:
            yield Problem(index, 0, f"is not the index that {SUITES} pins ({wanted[:12]}…); restore the two together")


def _splits(folder: Folder) -> Iterator[Problem]:
    wanted = {QA: "release", TOOLS: "release", f"{DEV}/{QA}": "dev", f"{DEV}/{TOOLS}": "dev"}
    where: dict[str, str] = {}
    for file, rows in folder.rows().items():
        for row in rows:
            if file != CALIBRATION and getattr(row, "split", "") != wanted[file]:
                yield folder.problem(file, row.id, f"{row.id}: split is not {wanted[file]}; move it or correct it")
            if row.id in where:
                yield folder.problem(file, row.id, f"{row.id} stands in {where[row.id]} too; an id is never reused")
            where[row.id] = file


def _of_item(folder: Folder, row_id: str, text: str) -> Problem:
    file = next(file for file, rows in folder.rows().items() if any(row.id == row_id for row in rows))
    return folder.problem(file, row_id, f"{row_id}: {text}")


if __name__ == "__main__":
    main()
