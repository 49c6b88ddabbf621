"""From base and recipe to a published checkpoint: staged, verified, digested, and put in place by one rename."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from quantize.alone import alone
from quantize.backends import own_environment
from quantize.backends.report import BackendReport
from quantize.calibration import Row, read_rows
from quantize.manifest import MANIFEST, Manifest, file_digests, load_manifest, weights_digest
from quantize.preconditions import Room, unmet
from quantize.recipe import Recipe, RecipeError, load_recipe
from quantize.sources import Source
from quantize.verify import headers, is_quantized, verify

SIDE_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
)
Backend = Callable[[Path, Recipe, Sequence[Row], Path], BackendReport]


@dataclass(frozen=True)
class Order:
    """What is to be made: variant, recipe file, base with its record, and frozen calibration rows."""

    variant: str
    recipe: Path
    base: Path
    source: Source
    calibration: Path


def backend(name: str) -> Backend:
    """The backend of that name; its libraries are imported only now."""
    if name == "passthrough":
        from quantize.backends import passthrough

        return passthrough.make
    if name in own_environment.PYTHONS:
        return own_environment.backend(name)
    from quantize.backends import llm_compressor

    return llm_compressor.make


def publish(order: Order, target: Path, scratch: Path) -> Manifest:
    """Make the ordered checkpoint at `target`, with its manifest in it.

    `scratch` is a folder on the same file system, kept between calls: its lock lets one process at a time make this
    checkpoint, and a crash leaves there nothing that a later call would take for a result. The last good checkpoint
    at `target` stays until the new one replaces it. Raises `RecipeError` before calibration for what cannot work,
    and after it when the result is not as the recipe says.
    """
    recipe, recipe_sha256 = load_recipe(order.recipe)
    rows, calibration_sha256 = read_rows(order.calibration) if recipe.calibrated else ([], None)
    with alone(scratch / "lock", "making this checkpoint") as waited:
        if waited and (made := _made_meanwhile(target, order, recipe_sha256, calibration_sha256)):
            return made
        staging = scratch / "staging"
        if staging.exists():
            shutil.rmtree(staging)
        staging.mkdir()
        _require_room(order, recipe, rows, staging)
        started = time.monotonic()
        report = backend(recipe.backend)(order.base, recipe, rows, staging)
        _require_few_skips(report, recipe, order.recipe)
        _restore_side_files(order.base, staging)
        verify(order.base, staging, recipe)
        wall_s = round(time.monotonic() - started, 1)
        manifest = _manifest(order, (recipe, recipe_sha256, calibration_sha256), report, staging, wall_s)
        (staging / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
        _replace(staging, target)
    return manifest


def _manifest(
    order: Order, recipe: tuple[Recipe, str, str | None], report: BackendReport, staging: Path, wall_s: float
) -> Manifest:
    how, recipe_sha256, calibration_sha256 = recipe
    files = file_digests(staging)
    return Manifest(
        variant=order.variant,
        backend=how.backend,
        base_repo=order.source.repo,
        base_revision=order.source.revision,
        base_digest=order.source.digest,
        recipe=order.recipe.as_posix(),
        recipe_text=order.recipe.read_text("utf-8"),
        recipe_sha256=recipe_sha256,
        calibration_sha256=calibration_sha256,
        weight_bits=how.weight_bits,
        activation_bits=how.activation_bits,
        scheme=how.scheme,
        versions=report.versions,
        device=report.device,
        warnings=report.warnings,
        skipped_mappings=report.skipped_mappings,
        awq_error=report.awq_error,
        calibration_rows_cut=report.rows_cut,
        files=files,
        weights_digest=weights_digest(files),
        weight_bytes=sum((staging / name).stat().st_size for name in files if name.endswith(".safetensors")),
        wall_s=wall_s,
    )


def _made_meanwhile(target: Path, order: Order, recipe_sha256: str, calibration_sha256: str | None) -> Manifest | None:
    # What DVC wants made anew it removes first, so a checkpoint that is there was put there while this one waited.
    if not (target / MANIFEST).exists():
        return None
    manifest = load_manifest(target / MANIFEST)
    same = (manifest.base_digest, manifest.recipe_sha256, manifest.calibration_sha256)
    if same == (order.source.digest, recipe_sha256, calibration_sha256) and manifest.files == file_digests(target):
        return manifest
    return None


def _replace(staging: Path, target: Path) -> None:
    for path in staging.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        shutil.rmtree(target)
    staging.rename(target)


def _restore_side_files(base: Path, staging: Path) -> None:
    # A quantizer re-saves tokenizer and template its own way; serving must see the base's, byte for byte.
    for name in SIDE_FILES:
        (staging / name).unlink(missing_ok=True)
        if (base / name).exists():
            shutil.copyfile(base / name, staging / name)


def _require_room(order: Order, recipe: Recipe, rows: Sequence[Row], staging: Path) -> None:
    shapes = {name: shape for name, (_, shape) in headers(order.base).items() if is_quantized(name, shape, recipe)}
    base_bytes = sum(path.stat().st_size for path in order.base.glob("*.safetensors"))
    room = Room(shutil.disk_usage(staging).free, psutil.virtual_memory().available)
    problems = unmet(shapes, base_bytes, recipe, rows, room)
    if problems:
        raise RecipeError(f"{order.variant}: not started: {'; '.join(problems)}")


def _require_few_skips(report: BackendReport, recipe: Recipe, path: Path) -> None:
    if report.skipped_mappings > recipe.max_skipped_mappings:
        raise RecipeError(
            f"{path}: {report.skipped_mappings} layer mappings were skipped and got plain rounding, "
            f"{recipe.max_skipped_mappings} declared; raise max_skipped_mappings if that is expected"
        )
