"""Which folder an engine loads for a variant: the checkpoint, or its weights dequantized where no kernel fits."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from evalsets.records import InputError
from pipelines.engine.record import has_fp8_units
from pipelines.layout import WORK
from quantize.manifest import Manifest, file_digests, weights_digest

CONVERTER = Path(".venvs/llmcompressor/bin/python")
DEQUANTIZED = "w8a16-dequantized"


@dataclass(frozen=True)
class Served:
    """The folder an engine loads, its digest, the bits it computes with, whether a quantized kernel runs, a note."""

    folder: Path
    digest: str
    bits: tuple[int, int]
    quantized: bool
    note: str


def served_folder(checkpoint: Path, manifest: Manifest, device: str) -> Served:
    """What is served for a checkpoint on `device`.

    FP8 on a CPU without AMX takes minutes an answer; it is served from its own weights dequantized to bf16, which is
    the arithmetic of a card without FP8 units (W8A16). The dequantized folder is made once per weights digest.
    """
    if manifest.scheme.startswith("FP8") and device == "cpu" and not has_fp8_units():
        target = WORK / "dequantized" / manifest.weights_digest
        if not target.exists():
            _dequantize(checkpoint, target)
        return Served(target, weights_digest(file_digests(target)), (8, 16), False, DEQUANTIZED)
    bits = (manifest.weight_bits, manifest.activation_bits)
    return Served(checkpoint, manifest.weights_digest, bits, manifest.weight_bits < 16, "")


def _dequantize(checkpoint: Path, target: Path) -> None:
    command = [str(CONVERTER), "-m", "quantize.dequantize", str(checkpoint), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise InputError(f"{checkpoint}: cannot be dequantized for serving; run: make setup. It said:\n{last}")
