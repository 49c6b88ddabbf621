"""The manifest of a checkpoint: what it was made from, by what, and the digest of what came out."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quantize.recipe import RecipeError

MANIFEST = "manifest.json"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """One published checkpoint. `recipe` is the recipe file's path, `recipe_text` and `recipe_sha256` its content.
    `files` maps every file but the manifest to its SHA-256.

    `weights_digest` is the digest OpenSSF model signing uses: SHA-256 over the raw SHA-256 digests of the files in
    name order. `awq_error` is the mean squared error per layer that the AWQ search ended with, empty elsewhere.
    `skipped_mappings` counts layers that got plain rounding, `calibration_rows_cut` the calibration rows of which the
    backend took the end only. `wall_s` seconds, measured on `device`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    variant: str
    backend: str
    base_repo: str
    base_revision: str
    base_digest: Sha256
    recipe: str
    recipe_text: str
    recipe_sha256: Sha256
    calibration_sha256: Sha256 | None
    weight_bits: int
    activation_bits: int
    scheme: str
    versions: dict[str, str]
    device: str
    warnings: list[str]
    skipped_mappings: int
    awq_error: dict[str, float]
    calibration_rows_cut: int = 0
    files: dict[str, Sha256]
    weights_digest: Sha256
    weight_bytes: int
    wall_s: float


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 per file of a checkpoint folder, in name order (POSIX paths relative to it), the manifest left out."""
    names = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST
    )
    found = {}
    for name in names:
        with (folder / name).open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def weights_digest(files: dict[str, str]) -> str:
    """The one digest of a checkpoint: SHA-256 over the raw digests of its files in name order."""
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(bytes.fromhex(files[name]))
    return whole.hexdigest()


def load_manifest(path: Path) -> Manifest:
    """The manifest at `path`. Raises `RecipeError` where there is none or it is not one."""
    try:
        return Manifest.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RecipeError(f"{path}: no such manifest; run the quantize stage (dvc repro)") from None
    except ValidationError as error:
        raise RecipeError(f"{path}: not a manifest: {error.error_count()} problems; quantize again") from None
