"""What must hold before hours are spent on a checkpoint: disk, memory, shapes, calibration rows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quantize.calibration import Row
from quantize.recipe import Recipe

GROUP = 128  # weights that share a scale in the W4A16 schemes
HEADROOM = 1.2  # weights in memory, and what is made of one layer at a time
MIN_TOKENS = 16


@dataclass(frozen=True)
class Room:
    """What the machine has, in bytes: free disk where the checkpoint is staged, and memory that may be taken."""

    disk_bytes: int
    memory_bytes: int


def unmet(
    shapes: Mapping[str, Sequence[int]], base_bytes: int, recipe: Recipe, rows: Sequence[Row], room: Room
) -> list[str]:
    """One line per condition that does not hold, each with what to do; empty when all hold.

    `shapes` maps the tensors that the recipe quantizes to [outputs, inputs]; `base_bytes` is the base's weights.
    """
    found = []
    if room.disk_bytes < 2 * base_bytes:
        found.append(f"{_gb(room.disk_bytes)} of disk free, {_gb(2 * base_bytes)} needed (twice the base): free some")
    if not recipe.calibrated:
        return found
    need = int(HEADROOM * base_bytes)
    if room.memory_bytes < need:
        found.append(f"{_gb(room.memory_bytes)} of memory free, {_gb(need)} needed to hold the base: use a larger host")
    ragged = sorted(name for name, shape in shapes.items() if shape[-1] % GROUP)
    if ragged:
        shown = ", ".join(f"{name} ({shapes[name][-1]} inputs)" for name in ragged[:3])
        found.append(f"{len(ragged)} weights do not divide into groups of {GROUP}: {shown}: add them to `ignore`")
    short = [row.id for row in rows if len(row.input_ids) < MIN_TOKENS]
    if short:
        found.append(f"calibration rows of fewer than {MIN_TOKENS} tokens: {', '.join(short[:5])}: write longer ones")
    return found


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
