"""Which kernels an engine chose, and the bits they compute with, read from the lines of its start-up log. Pure.

The spellings are those of vLLM 0.32; tests/pipelines/engine/data/kernel_lines.jsonl names the module of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from evalsets.records import InputError

KERNEL_LINE = re.compile(r"(?:Using|Selected) (\w+) for (\w+)")
ATTENTION_LINE = re.compile(
    r"Using (?:AttentionBackendEnum\.)?([A-Z][A-Z0-9_]*) (?:attention )?backend(?: out of|\.| \()"
)
# A card without FP8 units names its kernel by this warning alone.
MARLIN_FP8_LINE = re.compile(r"Weight-only FP8 compression will be used leveraging the Marlin kernel")
MARLIN_FP8 = "MarlinFP8ScaledMMLinearKernel"
WEIGHT_ONLY = ("CPUFp8PerTensorScaledMMLinearKernel", "CPUFp8BlockScaledMMKernel")  # whatever they were chosen for
BITS = re.compile(r"[Ww](?:\d+|N)[Aa](\d+)")
UNQUANTIZED = "UnquantizedLinear"


def kernel_lines(log: str) -> list[str]:
    """The lines of a start-up log that say which kernel or attention backend was chosen, prefixes cut, unique."""
    texts = (line.split("] ", 1)[-1].strip() for line in log.splitlines())
    patterns = (KERNEL_LINE, ATTENTION_LINE, MARLIN_FP8_LINE)
    return list(dict.fromkeys(text for text in texts if any(pattern.search(text) for pattern in patterns)))


def linear_kernel(lines: Sequence[str], quantized: bool) -> str:
    """The class of the linear kernel that the log names; for 16-bit weights, which name none, `UnquantizedLinear`.

    Several are joined by `+`, in the order of the alphabet: layers of two kernels are another class than layers of
    one. Raises `InputError` where quantized weights name no kernel: the verdict would hold for unknown numerics.
    """
    if not quantized:
        return UNQUANTIZED
    found = {kernel for kernel, _ in _kernels(lines)}
    if not found:
        raise InputError(
            "the engine's log names no linear kernel for quantized weights; set engine.flags: --linear-backend "
            "or check pipelines/engine/kernels.py"
        )
    return "+".join(sorted(found))


def attention_backend(lines: Sequence[str]) -> str:
    """The attention backend that the log names, or `default` where it names none."""
    return next((found[1] for line in lines if (found := ATTENTION_LINE.search(line))), "default")


def computed_bits(
    lines: Sequence[str], declared: tuple[int, int], environment: Mapping[str, str], instructions: str
) -> tuple[int, int]:
    """Bits of weights and activations as the kernels compute, from those that the checkpoint declares.

    An FP8 checkpoint that declares 8 and 8 is W8A16 under Marlin. `instructions` is the compute capability that is
    recorded; a CPU with AMX computes INT4 weights with 8-bit activations unless the environment forbids it.
    """
    found = [_activation_bits(kernel, use, environment, instructions) for kernel, use in _kernels(lines)]
    return declared[0], min((bits for bits in found if bits), default=declared[1])


def _kernels(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Class of a linear kernel and what it was chosen for, line by line. A kernel for experts or attention is none."""
    for line in lines:
        if (found := KERNEL_LINE.search(line)) and found[1].endswith("Kernel"):
            yield found[1], found[2]
        elif MARLIN_FP8_LINE.search(line):
            yield MARLIN_FP8, ""


def _activation_bits(kernel: str, use: str, environment: Mapping[str, str], instructions: str) -> int | None:
    """Of one kernel; None where neither it nor its use says. The kernel's own word goes before that of its use."""
    if kernel == "MarlinLinearKernel" and environment.get("VLLM_MARLIN_INPUT_DTYPE", "").lower() in ("int8", "fp8"):
        return 8
    if "Marlin" in kernel or kernel in WEIGHT_ONLY:
        return 16
    if kernel == "CPUWNA16LinearKernel" and instructions.startswith("amx"):
        return 16 if environment.get("VLLM_CPU_INT4_W4A8", "1") == "0" else 8
    found = BITS.search(kernel) or BITS.search(use)
    return int(found[1]) if found else None
