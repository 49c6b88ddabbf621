"""From a profile to an engine's command line and environment, and what of them may be written down."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pipelines.params import Engine
from pipelines.stage import QUIET

# Only these variables of an engine's environment are ever recorded, and none that looks like a secret.
RECORDED = re.compile(
    r"VLLM_(?!.*(KEY|TOKEN|SECRET|PASSWORD))\w+|CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS|OPENBLAS_CORETYPE"
)
SECRET_FLAGS = ("--api-key", "--hf-token", "--ssl-keyfile-password")
PASSWORD_IN_URI = re.compile(r"(?<=://)[^/@\s]+(?=@)")
MASK = "***"


def served_name(name: str, weights_digest: str) -> str:
    """The model name an engine answers to: the registered name and 12 digits of the weights digest."""
    return f"{name}@{weights_digest[:12]}"


def engine_argv(engine: Engine, checkpoint: Path, name: str, port: int) -> list[str]:
    """The command that starts an engine on loopback, with every setting explicit that shapes an answer."""
    argv = [*engine.command, "--model", str(checkpoint), "--served-model-name", name]
    argv += ["--host", "127.0.0.1", "--port", str(port)]
    argv += ["--dtype", engine.dtype, "--max-model-len", str(engine.max_model_len)]
    argv += ["--max-num-seqs", str(engine.max_num_seqs)]
    argv += ["--max-num-batched-tokens", str(engine.max_num_batched_tokens)]
    argv += ["--enable-prefix-caching" if engine.prefix_caching else "--no-enable-prefix-caching"]
    # The model's own defaults (a repetition penalty, even at temperature 0) must not reach a request.
    argv += ["--generation-config", "vllm"]
    if engine.tool_parser:
        argv += ["--enable-auto-tool-choice", "--tool-call-parser", engine.tool_parser]
    return argv + list(engine.flags)


def engine_environment(engine: Engine) -> dict[str, str]:
    """The whole environment of an engine's process: this one's, with the settings and the quiet table on top."""
    environment = dict(os.environ) | QUIET | engine.environment
    if engine.device == "cpu" and engine.bind_all_cores:
        cores = sorted(os.sched_getaffinity(0))
        environment["VLLM_CPU_OMP_THREADS_BIND"] = ",".join(map(str, cores))
    return environment


def recorded_argv(argv: list[str], port: int) -> list[str]:
    """The command line as it may be written: port left out, secrets masked."""
    shown = []
    for before, word in zip(["", *argv], argv, strict=False):
        flag, _, value = word.partition("=")
        if before in SECRET_FLAGS:
            shown.append(MASK)
        elif flag in SECRET_FLAGS and value:
            shown.append(f"{flag}={MASK}")
        else:
            shown.append("PORT" if word == str(port) else PASSWORD_IN_URI.sub(MASK, word))
    return shown


def recorded_environment(environment: dict[str, str]) -> dict[str, str]:
    """The allow-listed variables of an environment, passwords in URIs masked, sorted by name."""
    return {
        name: PASSWORD_IN_URI.sub(MASK, value)
        for name, value in sorted(environment.items())
        if RECORDED.fullmatch(name)
    }
