"""Loading suites: strict reading of one split, and the fixed stratified subset that a profile takes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from evalsets.items import Item, QaItem, Suite, ToolItem, Toolset, ToolsetFile
from evalsets.records import InputError, read_record, read_rows, unique_by_id

I = TypeVar("I", bound=Item)  # noqa: E741


def load_qa(path: Path, take: int | None = None) -> list[QaItem]:
    """The active items of a QA suite in file order, or the fixed subset of `take` of them.

    Raises `InputError` for a bad line, an id that stands twice, or items of both splits in one file.
    """
    return stratified(_active(read_rows(path, QaItem), path), take, str(path))


def load_tools(path: Path, take: int | None = None) -> list[ToolItem]:
    """The active items of a tool-call suite, as `load_qa` gives those of a QA suite."""
    return stratified(_active(read_rows(path, ToolItem), path), take, str(path))


def load_suite(path: Path, suite: Suite, take: int | None = None) -> list[QaItem] | list[ToolItem]:
    """`load_qa` or `load_tools` by the suite's name."""
    return load_qa(path, take) if suite == "qa" else load_tools(path, take)


def load_toolsets(path: Path) -> dict[str, Toolset]:
    """Toolsets by name. Raises `InputError` for a name that occurs twice."""
    return unique_by_id(read_record(path, ToolsetFile).toolsets, "name", str(path))


def row_lines(path: Path, suite: Suite) -> dict[str, int]:
    """The line, from 1, on which each item of a suite's file stands."""
    rows: Sequence[Item] = read_rows(path, QaItem) if suite == "qa" else read_rows(path, ToolItem)
    return {row.id: line for line, row in enumerate(rows, 1)}


def stratified(items: list[I], take: int | None, where: str) -> list[I]:
    """`take` items (None: all), spread over domain, language and first tag as in the whole, in file order.

    The choice depends on the ids alone: within a stratum the items with the smallest SHA-256 of their id are taken,
    and each stratum gives its share by largest remainder. Raises `InputError` when there are fewer than `take`.
    """
    if take is None or take == len(items):
        return items
    if take > len(items):
        raise InputError(f"{where}: {len(items)} active items, {take} wanted; lower `take` in the profile")
    strata: dict[tuple[str, str, str], list[I]] = {}
    for item in items:
        strata.setdefault((item.domain, item.lang, item.tags[0] if item.tags else ""), []).append(item)
    quotas = _largest_remainder({key: len(group) for key, group in strata.items()}, take)
    chosen: set[str] = set()
    for key, group in strata.items():
        ranked = sorted(group, key=lambda item: hashlib.sha256(item.id.encode()).hexdigest())
        chosen.update(item.id for item in ranked[: quotas[key]])
    return [item for item in items if item.id in chosen]


def _largest_remainder(sizes: dict[tuple[str, str, str], int], take: int) -> dict[tuple[str, str, str], int]:
    total = sum(sizes.values())
    quotas = {key: size * take // total for key, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda key: (-(sizes[key] * take % total), key))
    for key in by_remainder[: take - sum(quotas.values())]:
        quotas[key] += 1
    return quotas


def _active(items: Sequence[I], path: Path) -> list[I]:
    unique_by_id(items, "id", str(path))
    if len(splits := sorted({item.split for item in items})) > 1:
        raise InputError(f"{path}: items of the splits {' and '.join(splits)}; keep each split in a file of its own")
    return [item for item in items if item.status == "active"]
