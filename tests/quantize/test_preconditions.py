"""Every condition is checked before calibration, each with what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quantize.calibration import Row
from quantize.preconditions import Room, unmet
from quantize.recipe import load_recipe

AWQ, _ = load_recipe(Path("quantize/recipes/awq-int4.yaml"))
FP8, _ = load_recipe(Path("quantize/recipes/fp8.yaml"))
# The 32B model's shapes.
SHAPES = {"up_proj": [27648, 5120], "down_proj": [5120, 27648], "k_proj": [1024, 5120]}
ROWS = [Row("row-1", list(range(512)), [0] * 512)]
BASE = 65_500_000_000
ROOM = Room(disk_bytes=200_000_000_000, memory_bytes=120_000_000_000)


def test_all_is_well() -> None:
    assert unmet(SHAPES, BASE, AWQ, ROWS, ROOM) == []


@pytest.mark.parametrize(
    ("shapes", "rows", "room", "says"),
    [
        (SHAPES, ROWS, replace(ROOM, disk_bytes=131_000_000_000 - 1), "131.0 GB of disk free, 131.0 GB needed"),
        (SHAPES, ROWS, replace(ROOM, memory_bytes=64_000_000_000), "64.0 GB of memory free, 78.6 GB needed"),
        (SHAPES | {"odd_proj": [64, 200]}, ROWS, ROOM, "1 weights do not divide into groups of 128: odd_proj (200"),
        (SHAPES, [*ROWS, Row("row-2", [1] * 15, [0] * 15)], ROOM, "fewer than 16 tokens: row-2"),
    ],
)
def test_each_lack_is_one_line(shapes: dict[str, list[int]], rows: list[Row], room: Room, says: str) -> None:
    found = unmet(shapes, BASE, AWQ, rows, room)
    assert len(found) == 1
    assert says in found[0]


def test_fp8_streams_and_needs_neither_memory_nor_rows() -> None:
    assert unmet(SHAPES, BASE, FP8, [], replace(ROOM, memory_bytes=8_000_000_000)) == []
