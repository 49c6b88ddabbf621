"""Bytes on disk: base, checkpoints, and the most that is taken at any time. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pipelines.planning.records import Amount, Disk
from pipelines.serving.model_config import ModelConfig, WeightFormat, weight_bytes
from quantize.recipe import Recipe

# A quantization wants this many times the base free before it starts (quantize.preconditions).
STAGING = 2
WIDE = WeightFormat(16)


def base_bytes(config: ModelConfig, measured: int | None) -> Amount:
    """The base's weight files: `measured` where hub or disk have stated them, else the tensors of its config."""
    if measured is not None:
        return Amount(value=measured, basis="measured")
    return Amount(value=weight_bytes(config, WIDE), basis="calculated")


def checkpoint_bytes(
    config: ModelConfig, formats: Mapping[str, WeightFormat], base: Amount, measured: Mapping[str, int]
) -> dict[str, Amount]:
    """The weights of each variant's checkpoint: `measured` where it lies here, else calculated from its recipe."""
    found = {}
    for name, stored in formats.items():
        if name in measured:
            found[name] = Amount(value=measured[name], basis="measured")
        elif stored.bits == WIDE.bits:
            found[name] = base
        else:
            found[name] = Amount(value=weight_bytes(config, stored), basis="calculated")
    return found


def disk(
    base: Amount,
    checkpoints: Mapping[str, Amount],
    recipes: Mapping[str, Recipe],
    twins: Collection[str],
    present_bytes: int,
    free_bytes: int,
) -> Disk:
    """What the stages write in order: the base, every checkpoint, and the dequantized `twins` of variants.

    A 16-bit checkpoint is hard links to the base. Each quantization starts only with `STAGING` times the base free.
    """
    kept = most = base.value
    for name, size in checkpoints.items():
        most = max(most, kept + STAGING * base.value)
        kept += 0 if recipes[name].backend == "passthrough" else size.value
    kept += len(twins) * base.value
    return Disk(
        base_bytes=base,
        checkpoint_bytes=dict(checkpoints),
        twin_bytes=Amount(value=len(twins) * base.value, basis="calculated") if twins else None,
        wanted_bytes=Amount(value=max(most, kept), basis="calculated"),
        kept_bytes=Amount(value=kept, basis="calculated"),
        present_bytes=Amount(value=present_bytes, basis="measured"),
        free_bytes=Amount(value=free_bytes, basis="measured"),
    )
