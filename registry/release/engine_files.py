"""A variant's start files for vLLM: argument words for a shell, a YAML file for `--config`, variables. Pure."""

from __future__ import annotations

import re
import shlex

from evalsets.records import InputError
from registry.release.flags import CONTROL, MODEL, grouped
from registry.release.release import Served
from registry.release.yaml_text import yaml_text

WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def vllm_args(served: Served) -> str:
    """The arguments after `vllm serve` on one line, quoted so that `sh` and `xargs` give back the same words.

    Address and port are the deployment's and stand in no file.
    """
    return " ".join(map(shlex.quote, _words(served))) + "\n"


def vllm_yaml(served: Served) -> str:
    """The same arguments for `vllm serve --config`: one key per flag.

    A switch is `true` under the very name it was measured with (`no-enable-prefix-caching`): of a switch that is
    `false` vLLM drops what it does not know, of one that is `true` it says so.
    """
    values: dict[str, object] = {}
    for name, words in grouped([MODEL, served.path, *_words(served)[2:]], served.variant):
        values[name.removeprefix("--")] = _value(words)
    first = {"model": served.path, "served-model-name": served.served_name}
    head = f"{served.variant}, weights {served.weights_digest}\nmeasured on {numerics(served)}"
    return yaml_text(first | values, head)


def vllm_env(served: Served) -> str:
    """The variables, `NAME=value` a line, for a shell, systemd's `EnvironmentFile=` and docker's `--env-file` alike."""
    return "".join(f"{name}={value}\n" for name, value in sorted(served.environment.items()))


def numerics(served: Served) -> str:
    """The execution class in words: the verdict holds for it and for no other."""
    execution = served.execution
    parts = [
        execution.device,
        execution.compute_capability,
        f"{execution.engine} {execution.engine_version}",
        execution.linear_kernel,
        f"W{execution.weight_bits}A{execution.activation_bits}",
        execution.dtype,
        execution.note,
    ]
    return ", ".join(part for part in parts if part)


def _words(served: Served) -> list[str]:
    # Not as a positional word: `python -m vllm.entrypoints.openai.api_server` takes none and would serve its default.
    words = [MODEL, served.path, "--served-model-name", served.served_name, *served.flags]
    for word in words:
        if CONTROL.search(word):
            raise InputError(f"{served.variant}: {word!r} holds a control character; no file can carry it, remove it")
    return words


def _value(words: list[str]) -> object:
    if not words:
        return True
    values = [int(word) if WHOLE.fullmatch(word) else word for word in words]
    return values[0] if len(values) == 1 else values
