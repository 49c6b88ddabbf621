"""A version is released in the execution class that was evaluated, and in no other, by name."""

from __future__ import annotations

from typing import Any

import pytest

from evalsets.records import InputError
from registry.release.release_of import release_of
from tests.registry.release.release_material import SERVES, Material, execution

EVALUATED = {
    "awq-int4": r"w4a16 by MarlinLinearKernel on NVIDIA A100-SXM4-80GB \(8.0\)",
    "fp8": r"w8a16 by MarlinFP8ScaledMMLinearKernel on NVIDIA A100-SXM4-80GB \(8.0\)",
    "bf16": r"w16a16 by UnquantizedLinear on NVIDIA A100-SXM4-80GB \(8.0\)",
}
H100 = {"device": "NVIDIA H100", "compute_capability": "9.0"}
CUTLASS = {"linear_kernel": "CutlassFP8ScaledMMLinearKernel", "activation_bits": 8}

# scene, variant that was served in another class, what differs, the words for it
OTHERS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "fp8 with 8-bit activations on another card": (
        "tools",
        "fp8",
        H100 | CUTLASS,
        r"w8a8 by CutlassFP8ScaledMMLinearKernel on NVIDIA H100 \(9.0\)",
    ),
    "int4 with 8-bit activations": (
        "qa",
        "awq-int4",
        {"activation_bits": 8},
        r"w4a8 by MarlinLinearKernel on NVIDIA A100-SXM4-80GB \(8.0\)",
    ),
    "int4 by another kernel": (
        "qa",
        "awq-int4",
        {"linear_kernel": "ExllamaLinearKernel"},
        r"w4a16 by ExllamaLinearKernel on NVIDIA A100-SXM4-80GB \(8.0\)",
    ),
    "under another engine version": (
        "qa",
        "awq-int4",
        {"engine_version": "0.33.0"},
        r"w4a16 by MarlinLinearKernel on NVIDIA A100-SXM4-80GB \(8.0\) under vllm 0.33.0",
    ),
    "the fallback on another card": ("tools", "bf16", H100, r"w16a16 by UnquantizedLinear on NVIDIA H100 \(9.0\)"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_class_than_the_evaluated_one_is_not_released(name: str) -> None:
    scene, variant, changes, words = OTHERS[name]
    material = Material()
    other = execution(variant).model_copy(update=changes)
    material.engines[variant] = material.engines[variant].model_copy(update={"execution": other})
    message = (
        rf"engine/{variant}.json: it ran in another execution class .*: {variant}: {words} against {EVALUATED[variant]}"
    )
    with pytest.raises(InputError, match=message):
        release_of(scene, material.promotion(), material.bundle())


@pytest.mark.parametrize("scene", SERVES)
def test_the_evaluated_class_is_released(scene: str) -> None:
    material = Material()
    assert release_of(scene, material.promotion(), material.bundle()).served.execution == execution(SERVES[scene])
