"""A checkpoint is what was tested, byte for byte, or it is refused."""

from __future__ import annotations

from pathlib import Path

from evalsets.records import InputError
from quantize.manifest import Manifest, file_digests, weights_digest


def check_checkpoint(folder: Path, manifest: Manifest, tested: str) -> None:
    """Read every file of a checkpoint again and hold it against `tested`, the weights digest of the decision.

    Raises `InputError` naming the first file that differs, is missing, or was not there when it was tested.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such checkpoint; run the stage that writes it (dvc repro)")
    found = file_digests(folder)
    if weights_digest(found) == tested and found == manifest.files:
        return
    for name in sorted(manifest.files.keys() | found.keys()):
        if name not in found:
            raise _other(folder / name, "it was tested, and is missing now")
        if name not in manifest.files:
            raise _other(folder / name, "it was not there when the checkpoint was tested")
        if found[name] != manifest.files[name]:
            raise _other(folder / name, f"its SHA-256 is {found[name]}, tested was {manifest.files[name]}")
    raise _other(folder, f"its weights digest is {weights_digest(found)}, the decision's is {tested}")


def _other(path: Path, what: str) -> InputError:
    return InputError(f"{path}: {what}; these are not the weights that were tested: quantize and evaluate them again")
