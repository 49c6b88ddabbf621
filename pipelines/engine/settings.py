"""From a profile to an engine's command line and environment, and what of them may be written down."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pipelines.engine_modes import NAME_IN_BRACES, CommandEngine, LaunchEngine, LocalEngine
from pipelines.stage import QUIET

# Only these variables of an engine's environment are ever recorded, and none that looks like a secret.
RECORDED = re.compile(
    r"VLLM_(?!.*(KEY|TOKEN|SECRET|PASSWORD))\w+|CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS|OPENBLAS_CORETYPE"
)
API_KEY = "--api-key"
SECRET_FLAGS = (API_KEY, "--hf-token", "--ssl-keyfile-password")
SECRET_VARIABLE = re.compile(r"\w*(KEY|TOKEN|SECRET|PASSWORD)")
# A variable set on a command line, as containers take them: `-e NAME=value`, `--env=NAME=value`.
ASSIGNED = re.compile(rf"(?:-e|--env=)?({SECRET_VARIABLE.pattern})=(.+)")
PASSWORD_IN_URI = re.compile(r"""(?<=://)[^/\s"']+(?=@)""")
MASK = "***"


def served_name(name: str, weights_digest: str) -> str:
    """The model name an engine answers to: the registered name and 12 digits of the weights digest."""
    return f"{name}@{weights_digest[:12]}"


def engine_argv(engine: LaunchEngine | CommandEngine, checkpoint: Path, name: str, port: int) -> list[str]:
    """The command that starts an engine on loopback, with every setting explicit that shapes an answer.

    A command of the user's own gets the checkpoint as an absolute path, as a container's mount wants it.
    """
    if isinstance(engine, CommandEngine):
        return _filled(engine, str(checkpoint.resolve()), name, str(port))
    argv = [*engine.command, "--model", str(checkpoint), "--served-model-name", name]
    return [*argv, "--host", "127.0.0.1", "--port", str(port), *_flags(engine)]


def shown_argv(engine: LaunchEngine | CommandEngine, checkpoint: Path, name: str) -> list[str]:
    """The same command as it may be written down: port left out, secrets masked, the checkpoint as it was named."""
    if isinstance(engine, CommandEngine):
        return recorded_argv(_filled(engine, str(checkpoint), name, "PORT"))
    return recorded_argv(engine_argv(engine, checkpoint, name, port=0))


def engine_environment(engine: LocalEngine) -> dict[str, str]:
    """The whole environment of an engine's process: this one's, with the settings and the quiet table on top."""
    environment = dict(os.environ) | QUIET | engine.environment
    if engine.device == "cpu" and engine.bind_all_cores:
        cores = sorted(os.sched_getaffinity(0))
        environment["VLLM_CPU_OMP_THREADS_BIND"] = ",".join(map(str, cores))
    return environment


def recorded_argv(argv: Sequence[str]) -> list[str]:
    """The command line as it may be written: port left out, secrets masked."""
    shown = []
    for flag, word in _words_by_flag(argv):
        if word != flag and _is_secret(flag):
            shown.append(f"{flag}={MASK}" if word.startswith(f"{flag}=") else MASK)
        else:
            shown.append("PORT" if flag == "--port" != word else PASSWORD_IN_URI.sub(MASK, _unassigned(word)))
    return shown


def recorded_environment(environment: dict[str, str]) -> dict[str, str]:
    """The allow-listed variables of an environment, passwords in URIs masked, sorted by name."""
    return {
        name: PASSWORD_IN_URI.sub(MASK, value)
        for name, value in sorted(environment.items())
        if RECORDED.fullmatch(name)
    }


def api_key(argv: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The key that the engine wants with every request: the first one of its command line, else its variable's."""
    given = [value for flag, value in _values_by_flag(argv) if _spells(flag, API_KEY)]
    given = given or [found[3] for word in argv if (found := ASSIGNED.fullmatch(word)) and found[1] == "VLLM_API_KEY"]
    return next(filter(None, given or [environment.get("VLLM_API_KEY", "")]), None)


def secrets(argv: Sequence[str], environment: Mapping[str, str]) -> frozenset[str]:
    """Every value that must not reach a file: those of secret flags, and of variables named as secrets are."""
    given = {value for flag, value in _values_by_flag(argv) if value and _is_secret(flag)}
    given |= {found[3] for word in argv if (found := ASSIGNED.fullmatch(word))}
    # A short value is no secret, and to mask every "1" would spoil a log.
    kept = {value for name, value in environment.items() if SECRET_VARIABLE.fullmatch(name) and len(value) >= 8}
    return frozenset(given | kept)


def masked(text: str, hidden: frozenset[str]) -> str:
    """`text` without the `hidden` values and without passwords in URIs."""
    for value in sorted(hidden, key=len, reverse=True):
        text = text.replace(value, MASK)
    return PASSWORD_IN_URI.sub(MASK, text)


def _filled(engine: CommandEngine, checkpoint: str, name: str, port: str) -> list[str]:
    values = {"{checkpoint}": checkpoint, "{served_name}": name, "{port}": port}

    def value(found: re.Match[str]) -> str:
        return values[found[0]]

    words = [_flags(engine) if word == "{flags}" else [NAME_IN_BRACES.sub(value, word)] for word in engine.command]
    return [word for part in words for word in part]


def _flags(engine: LocalEngine) -> list[str]:
    argv = ["--dtype", engine.dtype, "--max-model-len", str(engine.max_model_len)]
    argv += ["--max-num-seqs", str(engine.max_num_seqs)]
    argv += ["--max-num-batched-tokens", str(engine.max_num_batched_tokens)]
    argv += ["--enable-prefix-caching" if engine.prefix_caching else "--no-enable-prefix-caching"]
    # The model's own defaults (a repetition penalty, even at temperature 0) must not reach a request.
    argv += ["--generation-config", "vllm"]
    if engine.tool_parser:
        argv += ["--enable-auto-tool-choice", "--tool-call-parser", engine.tool_parser]
    return argv + list(engine.flags)


def _words_by_flag(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each word with the flag it belongs to; a flag belongs to itself, and so does `--flag=value`."""
    flag = ""
    for word in argv:
        if word.startswith("-"):
            flag = word.partition("=")[0]
        yield flag, word


def _values_by_flag(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    for flag, word in _words_by_flag(argv):
        if word != flag:
            yield flag, word.removeprefix(f"{flag}=")


def _unassigned(word: str) -> str:
    found = ASSIGNED.fullmatch(word)
    return word[: found.start(3)] + MASK if found else word


def _is_secret(flag: str) -> bool:
    return any(_spells(flag, name) for name in SECRET_FLAGS)


def _spells(flag: str, name: str) -> bool:
    # As the engine's parser reads it: underscores for hyphens, and any beginning that is long enough.
    return len(flag) > len("--") and name.startswith(flag.replace("_", "-"))
