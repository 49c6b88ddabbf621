"""A checkpoint is what was tested, byte for byte, or it is refused."""

from __future__ import annotations

from pathlib import Path

from evalsets.records import InputError
from quantize.manifest import MANIFEST, Manifest, file_digests, weights_digest


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


def was_touched(folder: Path, manifest: Manifest) -> bool:
    """Whether a checkpoint may be another one than was tested, by names and times of its files alone.

    The manifest is written last, so a file that is newer was written to since, or copied. False where there is no such
    folder: a version outlives its checkpoint.
    """
    if not folder.is_dir():
        return False
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    record = paths.pop(MANIFEST, None)
    if record is None or paths.keys() != manifest.files.keys():
        return True
    return any(path.stat().st_mtime_ns > record.stat().st_mtime_ns for path in paths.values())


def _other(path: Path, what: str) -> InputError:
    return InputError(f"{path}: {what}; these are not the weights that were tested: quantize and evaluate them again")
