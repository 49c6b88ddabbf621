"""What a backend says of its work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BackendReport:
    """Library versions, the device used, warnings in order, and what the AWQ search ended with per layer.

    `rows_cut` calibration rows were longer than the recipe allows and were cut to their last tokens.
    """

    versions: dict[str, str]
    device: str
    warnings: list[str]
    skipped_mappings: int
    awq_error: dict[str, float]
    rows_cut: int = 0
