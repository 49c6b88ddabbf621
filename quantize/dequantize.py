"""A compressed-tensors checkpoint's weights as bf16, for engines that have no kernel for them.

`python -m quantize.dequantize CHECKPOINT TARGET`. The values are those the compressed weights stand for: served so,
FP8 weights compute as W8A16 does on a card without FP8 units.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from quantize.alone import alone

KEPT = ("lm_head", "model.embed_tokens", "re:.*norm$")


def dequantize(checkpoint: Path, target: Path) -> None:
    """Write `checkpoint` dequantized to `target` by one rename; a `target` that is there is whole and is kept."""
    from compressed_tensors.entrypoints.convert import CompressedTensorsDequantizer, convert_checkpoint

    with alone(target.with_suffix(".lock"), "dequantizing this checkpoint"):
        if target.exists():
            return
        staging = target.with_suffix(".staging")
        if staging.exists():
            shutil.rmtree(staging)
        convert_checkpoint(str(checkpoint), str(staging), CompressedTensorsDequantizer(str(checkpoint), ignore=KEPT))
        (staging / "manifest.json").unlink(missing_ok=True)  # it is the compressed checkpoint's
        staging.rename(target)


def main() -> None:
    """Parse the command line and dequantize."""
    parser = argparse.ArgumentParser(prog="python -m quantize.dequantize", description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("target", type=Path)
    given = parser.parse_args()
    dequantize(given.checkpoint, given.target)


if __name__ == "__main__":
    main()
