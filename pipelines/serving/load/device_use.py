"""How busy the device is: the card as its driver says, or this machine's cores and memory where there is none."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

import psutil

MIB = 1 << 20
QUERY = ["nvidia-smi", "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits"]


@dataclass(frozen=True)
class DeviceUse:
    """Share of time in use (0 to 1) and memory in use in bytes; the mean and the sum over several cards."""

    busy: float
    memory_bytes: int


def device_use(device: str) -> DeviceUse:
    """Now. For `cpu` the cores since the last call. Raises `CalledProcessError` where the driver does not answer."""
    if device == "cpu":
        return DeviceUse(psutil.cpu_percent() / 100, psutil.virtual_memory().used)
    return parsed(subprocess.run(QUERY, capture_output=True, text=True, check=True, timeout=30).stdout)


def parsed(text: str) -> DeviceUse:
    """The driver's lines, one per card: percent in use, and MiB."""
    cards = [[float(word) for word in line.split(",")] for line in text.splitlines() if line.strip()]
    return DeviceUse(sum(card[0] for card in cards) / len(cards) / 100, round(sum(card[1] for card in cards)) * MIB)
