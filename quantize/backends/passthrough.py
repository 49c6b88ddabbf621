"""The base as it is, by hard links where the file system allows."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from quantize.backends.report import BackendReport
from quantize.calibration import Row
from quantize.recipe import Recipe


def make(base: Path, recipe: Recipe, rows: Sequence[Row], staging: Path) -> BackendReport:
    """Fill `staging` with the base's files."""
    for path in sorted(base.iterdir()):
        try:
            (staging / path.name).hardlink_to(path.resolve())
        except OSError:
            shutil.copyfile(path, staging / path.name)
    return BackendReport(versions={}, device="none", warnings=[], skipped_mappings=0, awq_error={})
