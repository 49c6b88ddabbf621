"""Execution classes in words, and where two of them are not one. Pure.

A verdict holds for the numerics it was measured on: INT4 weights with 16-bit activations say nothing about the same
weights with 8-bit ones, nor FP8 on a card without FP8 units (W8A16) about FP8 on a card that has them (W8A8).
"""

from __future__ import annotations

from registry.evidence import EngineRecord, ExecutionClass

# Equal for all variants of a run; kernel, bits and note are each variant's own.
SHARED = ("device", "compute_capability", "engine", "engine_version", "dtype")


def across(name: str, old: ExecutionClass, new: ExecutionClass, other: str = "") -> str:
    """Two classes in words, each with what tells them apart: `fp8: w8a16 by Marlin... against w8a8 by Cutlass...`.

    `old` is that of `name`, `new` that of `other` where it is not the same variant's.
    """
    prefix = f"{other}: " if other else ""
    return f"{name}: {_words(old, new)} against {prefix}{_words(new, old)}"


def shared_differences(old: ExecutionClass, new: ExecutionClass) -> list[str]:
    """The names of what must be equal for all variants of a run and is not."""
    return [name for name in SHARED if getattr(old, name) != getattr(new, name)]


def contradictions(engine: EngineRecord) -> list[str]:
    """The names of what an engine record's execution class says otherwise than its shared settings."""
    return [name for name in SHARED if getattr(engine.execution, name) != getattr(engine.shared, name)]


def _words(execution: ExecutionClass, other: ExecutionClass) -> str:
    """A class in words: always bits, kernel and device, the engine, the type and the note where they differ."""
    words = f"w{execution.weight_bits}a{execution.activation_bits} by {execution.linear_kernel} on "
    words += f"{execution.device} ({execution.compute_capability})"
    if (execution.engine, execution.engine_version) != (other.engine, other.engine_version):
        words += f" under {execution.engine} {execution.engine_version}"
    if execution.dtype != other.dtype:
        words += f" in {execution.dtype}"
    if execution.note != other.note:
        words += f", {execution.note or 'not dequantized'}"
    return words
