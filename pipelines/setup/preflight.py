"""Preflight: is this machine one that the pipeline runs on? Asked before anything is downloaded.

Standard library only: it runs on the system's interpreter, before any environment exists.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

GIB = 1 << 30
MIN_CORES = 2
MIN_MEMORY_GIB = 12
# The largest environment takes 2.5 GiB; a run of the stand-in leaves 5.7 GiB of model, checkpoints and caches.
ENVIRONMENT_GIB = 3
RUN_GIB = 6
TORCH = "2.13.0+cpu"
TORCH_INDEX = "export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu"


@dataclass(frozen=True)
class Machine:
    """What preflight looks at. Memory and disk in bytes; `torch_versions` is what pip says it can get."""

    system: str
    architecture: str
    python: tuple[int, int]
    cores: int
    memory_bytes: int
    disk_bytes: int
    torch_versions: str


def disk_gib(environments: Collection[str]) -> int:
    """Room that building these environments takes, in GiB; with the engine's among them, a run's room too."""
    return ENVIRONMENT_GIB * len(environments) + (RUN_GIB if "vllm" in environments else 0)


def problems(machine: Machine, environments: Collection[str], cpu_torch: bool) -> list[str]:
    """One line per thing that is missing to build these, each with how to get it; empty when all is well. Pure.

    `cpu_torch`: one of them holds the CPU build of torch, which the package index itself does not have.
    """
    found = []
    if (machine.system, machine.architecture) != ("Linux", "x86_64"):
        found.append(f"Linux on x86-64 is needed, this is {machine.system} on {machine.architecture}: use such a host")
    if machine.python != (3, 11):
        version = ".".join(map(str, machine.python))
        found.append(
            f"Python 3.11 is needed, this is {version}: install it and run make with PYTHON=/path/to/python3.11"
        )
    if machine.cores < MIN_CORES:
        found.append(f"{MIN_CORES} cores are needed, {machine.cores} may be used: give this process more")
    if machine.memory_bytes < MIN_MEMORY_GIB * GIB:
        have = machine.memory_bytes / GIB
        found.append(f"{MIN_MEMORY_GIB} GiB of memory are needed, {have:.0f} are there: use a larger machine")
    if machine.disk_bytes < disk_gib(environments) * GIB:
        have, names = machine.disk_bytes / GIB, ", ".join(environments)
        need = f"{disk_gib(environments)} GiB of disk are needed for {names}"
        found.append(f"{need}, {have:.1f} are free here: free some, or clone elsewhere")
    if cpu_torch and TORCH not in machine.torch_versions:
        found.append(f"torch {TORCH} cannot be had from pip's indexes: {TORCH_INDEX}")
    return found


def look(folder: Path) -> Machine:
    """This machine, seen from `folder`. Asks pip's indexes which torch there is."""
    page = os.sysconf("SC_PAGE_SIZE")
    asked = [sys.executable, "-m", "pip", "index", "versions", "torch"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=120)
    return Machine(
        system=platform.system(),
        architecture=platform.machine(),
        python=sys.version_info[:2],
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=page * os.sysconf("SC_PHYS_PAGES"),
        disk_bytes=shutil.disk_usage(folder).free,
        torch_versions=done.stdout,
    )
