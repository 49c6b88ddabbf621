"""Engine flags and variables of a release, taken from the command line and environment that were measured. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from evalsets.records import InputError
from registry.evidence import EngineRecord

MODEL = "--model"
# Named by the release itself, or the deployment's own business.
NOT_RELEASED = {MODEL, "--served-model-name", "--host", "--port", "--api-key", "--hf-token", "--ssl-keyfile-password"}
MASK = "***"
# Of the machine that measured: its cards, its cores.
OF_THE_MACHINE = {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "VLLM_CPU_OMP_THREADS_BIND"}
# Lets anybody reset the cache of a running engine; meant for load tests on loopback.
DEV_MODE = "VLLM_SERVER_DEV_MODE"
REMOTE_CODE = "--trust-remote-code"
NAME = re.compile(r"--[a-z0-9][a-z0-9-]*(\.[A-Za-z0-9_.-]+\+?)?")
NUMBER = re.compile(r"-\d+(\.\d+)?")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What a shell, systemd and docker read alike without quotes.
PLAIN = re.compile(r"[A-Za-z0-9_.,:/=+@%-]*")


def engine_flags(engine: EngineRecord) -> list[str]:
    """The measured flags as words in their order, each flag in its long form and apart from its values.

    Model, served name, address and secrets are left out. Raises `InputError` naming the flag that cannot be released,
    and the setting that the command line does not state or states otherwise than the record.
    """
    where = f"engine/{engine.run}.json: argv"
    if list(engine.argv).count(MODEL) != 1:
        raise InputError(f"{where}: {MODEL} must stand in it once; this engine was not started by the pipeline")
    start = list(engine.argv).index(MODEL)
    flags = [word for name, values in grouped(engine.argv[start:], where) for word in (name, *values)]
    _check_stated(flags, engine, where)
    return flags


def grouped(words: Sequence[str], where: str) -> list[tuple[str, list[str]]]:
    """(flag, values) in order, without those of `NOT_RELEASED`. Raises `InputError` naming the word it refuses."""
    found: list[tuple[str, list[str]]] = []
    for word in _apart(words):
        if CONTROL.search(word):
            raise InputError(f"{where}: {word!r} holds a control character; no file can carry it, remove it")
        if word.startswith("-") and not NUMBER.fullmatch(word):
            name = _spelled(word)
            if not NAME.fullmatch(name):
                raise InputError(f"{where}: {word!r} is no flag in its long form; write it as --name in engine.flags")
            if any(name == earlier for earlier, _ in found):
                raise InputError(f"{where}: {name} is given twice, so which was measured is in doubt; give it once")
            found.append((name, []))
        elif not found:
            raise InputError(f"{where}: {word!r} belongs to no flag; correct engine.command and engine.flags")
        else:
            found[-1][1].append(word)
    kept = [(name, values) for name, values in found if name not in NOT_RELEASED]
    for name, values in kept:
        if name == REMOTE_CODE:
            raise InputError(f"{where}: {name} runs code that comes with a checkpoint; it is never released")
        if any(MASK in value for value in values):
            raise InputError(f"{where}: {name}: the value is masked, so it is not known; give secrets as variables")
    return kept


def engine_environment(engine: EngineRecord) -> dict[str, str]:
    """The measured variables by name, without those of the machine that measured.

    Raises `InputError` naming a variable that cannot be released.
    """
    where = f"engine/{engine.run}.json: environment"
    kept = {name: value for name, value in sorted(engine.environment.items()) if name not in OF_THE_MACHINE}
    _check_environment(kept, where)
    return kept


def _check_environment(environment: Mapping[str, str], where: str) -> None:
    for name, value in environment.items():
        if name == DEV_MODE and value not in ("", "0"):
            raise InputError(f"{where}: {DEV_MODE} is {value!r}; it opens the engine to its clients, never release it")
        if MASK in value:
            raise InputError(f"{where}: {name}: the value is masked, so it is not known; give secrets by deployment")
        if not VARIABLE.fullmatch(name) or not PLAIN.fullmatch(value):
            raise InputError(
                f"{where}: {name}={value!r} cannot stand in an environment file as it is; "
                "use letters, digits and _.,:/=+@%-"
            )


def _spelled(word: str) -> str:
    # As the engine's parser reads it: underscores are hyphens, but not in the keys behind a dot.
    name, dot, keys = word.partition(".")
    return name.replace("_", "-") + dot + keys


def _apart(words: Sequence[str]) -> Iterator[str]:
    """`--flag=value` as two words."""
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            yield from (name, value)
        else:
            yield word


def _check_stated(flags: Sequence[str], engine: EngineRecord, where: str) -> None:
    """Every setting of the record is stated once: a default left to the engine may be another one elsewhere."""
    shared = engine.shared
    stated = {
        "--dtype": shared.dtype,
        "--max-model-len": str(shared.max_model_len),
        "--max-num-seqs": str(shared.max_num_seqs),
        "--max-num-batched-tokens": str(shared.max_num_batched_tokens),
        "--generation-config": "vllm",
    }
    if engine.tool_parser is not None:
        stated["--tool-call-parser"] = engine.tool_parser
    given = dict(grouped(flags, where))
    for name, value in stated.items():
        if given.get(name) != [value]:
            said = " ".join(given.get(name, [])) or "not stated"
            raise InputError(f"{where}: {name} is {said}, the record's setting is {value}; measure again")
    on, off = ("--enable-prefix-caching", "--no-enable-prefix-caching")
    wanted, other = (on, off) if shared.prefix_caching else (off, on)
    if wanted not in given or other in given:
        raise InputError(f"{where}: {wanted} is not stated, and it is what was measured; measure again")
