"""Tables of plain text: what stands in them is escaped by the template, whatever it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Column = tuple[str, Literal["text", "number", "code", "outcome"]]


@dataclass(frozen=True)
class Table:
    """Rows of cells; a column is its head and how its cells are set. `caption` says what the table shows."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]


def texts(*heads: str) -> list[Column]:
    """Columns of running text."""
    return [(head, "text") for head in heads]


def numbers(*heads: str) -> list[Column]:
    """Columns that are set flush right."""
    return [(head, "number") for head in heads]


def codes(*heads: str) -> list[Column]:
    """Columns of labels, digests and the like."""
    return [(head, "code") for head in heads]


def outcomes(*heads: str) -> list[Column]:
    """Columns of PASS, FAIL or INCONCLUSIVE."""
    return [(head, "outcome") for head in heads]
