"""Preflight: one line per thing that is missing, with how to get it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.setup.preflight import GIB, Machine, look, problems

BUILT = ("control", "llmcompressor", "vllm")
GOOD = Machine("Linux", "x86_64", (3, 11), 2, 24 * GIB, 60 * GIB, "torch\nAvailable versions: 2.13.0+cpu, 2.13.0")


def test_a_good_machine_has_no_problems() -> None:
    assert problems(GOOD, BUILT, cpu_torch=True) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"system": "Darwin"}, "Linux on x86-64 is needed, this is Darwin"),
        ({"architecture": "aarch64"}, "on aarch64"),
        ({"python": (3, 12)}, "Python 3.11 is needed, this is 3.12"),
        ({"cores": 1}, "2 cores are needed, 1 may be used"),
        ({"memory_bytes": 8 * GIB}, "of memory are needed, 8 are there"),
        ({"disk_bytes": 3 * GIB}, "15 GiB of disk are needed for control, llmcompressor, vllm, 3.0 are free"),
        ({"torch_versions": "Available versions: 2.13.0"}, "export PIP_EXTRA_INDEX_URL="),
    ],
)
def test_each_lack_is_one_line(change: dict[str, Any], says: str) -> None:
    found = problems(Machine(**(vars(GOOD) | change)), BUILT, cpu_torch=True)
    assert len(found) == 1
    assert says in found[0]
    assert "\n" not in found[0]


def test_one_more_environment_asks_for_its_own_room_only() -> None:
    """Room already taken by the environments that stand is not asked for twice."""
    machine = Machine(**(vars(GOOD) | {"disk_bytes": 4 * GIB}))
    assert problems(machine, ["litellm"], cpu_torch=False) == []


def test_this_machine_can_be_looked_at() -> None:
    machine = look(Path())
    assert machine.system == "Linux"
    assert machine.cores >= 1
    assert machine.memory_bytes > GIB
