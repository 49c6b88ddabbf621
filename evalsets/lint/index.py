"""The index of a folder of suites: a digest for every row, so that a lost, doubled or changed row is named by its line.

It also keeps the rule of versioning: an id is never reused, and a changed item gets a new id. Retiring an item
(`status: retired`) changes no digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from evalsets.lint.folder import TOOLSETS, Folder, Problem
from evalsets.records import InputError, digest

INDEX = "index.txt"
DIGITS = 16  # of the SHA-256: enough to notice an accident; the whole file is pinned by its full SHA-256

Index = dict[str, dict[str, str]]


def index_of(folder: Folder) -> Index:
    """The digest of each row, by file and id, in file order. Raises `InputError` for an id that a file has twice."""
    found: Index = {}
    for file, rows in folder.rows().items():
        found[file] = _digests(folder, file, rows, "id")
    found[TOOLSETS] = _digests(folder, TOOLSETS, folder.toolsets, "name")
    return found


def index_text(index: Index) -> str:
    """An index as text: a line of digest, file and id for each row."""
    return "".join(f"{sha}  {file}  {row_id}\n" for file, rows in index.items() for row_id, sha in rows.items())


def read_index(path: Path) -> Index:
    """Read what `index_text` wrote. Raises `InputError` naming a line that is none of an index."""
    found: Index = {}
    for n, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        match line.split("  "):
            case [sha, file, row_id]:
                found.setdefault(file, {})[row_id] = sha
            case _:
                raise InputError(f"{path}:{n}: not a line of digest, file and id; restore the file")
    return found


def index_problems(folder: Folder, old: Index, new: Index) -> Iterator[Problem]:
    """Rows that the index knows and the folder has lost or changed, and rows that are not in the index yet."""
    for file in dict.fromkeys([*old, *new]):
        before, now = old.get(file, {}), new.get(file, {})
        for line, (row_id, sha) in enumerate(before.items(), 1):
            if row_id not in now:
                at = line if file != TOOLSETS else 0
                text = f"{row_id} stood here and is gone; restore it (an item that is no longer asked is `retired`)"
                yield Problem(folder.path / file, at, text)
            elif now[row_id] != sha:
                text = f"{row_id} has changed under its id; restore it, retire it, and give the changed one a new id"
                yield folder.problem(file, row_id, text)
        for row_id in now:
            if row_id not in before:
                text = f"{row_id} is not in {INDEX}; add it: python -m evalsets.lint {folder.path} --add-to-index"
                yield folder.problem(file, row_id, text)


def lost_or_changed(old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether any row of `old` is missing in `new` or differs there."""
    return any(new.get(file, {}).get(row_id) != sha for file, rows in old.items() for row_id, sha in rows.items())


def _digests(folder: Folder, file: str, rows: Sequence[BaseModel], key: str) -> dict[str, str]:
    found: dict[str, str] = {}
    first: dict[str, int] = {}
    for line, row in enumerate(rows, 1):
        row_id = getattr(row, key)
        if row_id in found:
            at, before = (line, f"line {first[row_id]}") if key == "id" else (0, "an entry before it")
            raise InputError(str(Problem(folder.path / file, at, f"{row_id} repeats the id of {before}; keep one")))
        found[row_id] = digest(row.model_dump(mode="json", exclude={"status"}))[:DIGITS]
        first[row_id] = line
    return found
