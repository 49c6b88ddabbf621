"""A registry under test, wherever it lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

EMPTY = "empty"


@dataclass(frozen=True)
class Place:
    """A registry's URI, and its contents kept and brought back by name. `EMPTY` is always there."""

    uri: str
    keep: Callable[[str], None]
    bring_back: Callable[[str], None]
