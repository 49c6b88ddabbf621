"""The profile's section `engine`: a server that is started here (`launch`, `command`), or one that runs elsewhere.

What all modes share comes first in every one's rendering; a field that is not set is left out of it.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from evalsets.items import Dialect
from evalsets.records import InputError, Record

PLACEHOLDERS = ("{checkpoint}", "{served_name}", "{port}", "{flags}")
NAME_IN_BRACES = re.compile(r"\{\w+\}")
Seconds = Annotated[int, Field(ge=1)]


def _unset(value: object) -> bool:
    return value is None


class Numerics(Record):
    """What shapes the numbers, equal for all variants. With `remote` it declares what the endpoint was started with."""

    dtype: Literal["bfloat16", "float16"]
    max_model_len: Annotated[int, Field(ge=256)]
    max_num_seqs: Annotated[int, Field(ge=1)]
    max_num_batched_tokens: Annotated[int, Field(ge=256)]
    prefix_caching: bool


class Inspect(Record):
    """The look at an engine before the suites are asked. Shares are from 0 to 1.

    `prompts` are asked for `max_tokens` new tokens each. `max_degenerate` is the largest share of them that may be
    nothing but a repetition, `min_first_token_agreement` the least share that must begin as the baseline's answers do.
    """

    enabled: bool = True
    prompts: Annotated[int, Field(ge=1)] = 20
    max_tokens: Annotated[int, Field(ge=8)] = 16
    max_degenerate: Annotated[float, Field(ge=0, le=1)] = 0.25
    min_first_token_agreement: Annotated[float, Field(ge=0, le=1)] = 0.5


class Driving(Record):
    """How the engine is asked. Times in seconds.

    `tool_parser` null: no engine parser reads the dialect. `stall_timeout_s`: without any answer or token for so long
    the engine counts as hung (null: twice `request_timeout_s`). `max_requests_per_s` null: no limit but `concurrency`.
    `inspect` is the look at the engine before the suites are asked.
    """

    tool_parser: str | None = None
    dialect: Dialect
    concurrency: Annotated[int, Field(ge=1, le=256)]
    start_timeout_s: Annotated[int, Field(ge=10)]
    request_timeout_s: Seconds
    stall_timeout_s: Annotated[Seconds | None, Field(exclude_if=_unset)] = None
    max_requests_per_s: Annotated[float | None, Field(gt=0, exclude_if=_unset)] = None
    inspect: Annotated[Inspect, Field(exclude_if=lambda value: value == Inspect())] = Inspect()


class _Command(Record):
    mode: Literal["launch", "command"]
    command: Annotated[list[str], Field(min_length=1)]
    device: Literal["cpu", "cuda"]


class _Process(Record):
    bind_all_cores: bool = False
    flags: list[str] = []
    environment: dict[str, str] = {}


# Fields are rendered from the last base to the first.
class LocalEngine(Driving, _Process, Numerics, _Command):
    """An engine whose process this machine starts, watches and stops.

    `flags` are further engine flags, `environment` further variables of the process. `bind_all_cores` gives a CPU
    engine every core.
    """


class LaunchEngine(LocalEngine):
    """`command` is the interpreter and module that start vLLM's server; every flag is appended to it."""

    mode: Literal["launch"]


class CommandEngine(LocalEngine):
    """`command` is any start command, such as a container's, with the placeholders of `PLACEHOLDERS` in its words.

    `{flags}` is a word of its own and stands for every engine flag but model, served name and address.
    """

    mode: Literal["command"]

    @field_validator("command")
    @classmethod
    def _placeholders(cls, command: list[str]) -> list[str]:
        found = [name for word in command for name in NAME_IN_BRACES.findall(word)]
        unknown = [name for name in found if name not in PLACEHOLDERS]
        missing = [name for name in PLACEHOLDERS if name not in found]
        if unknown or missing:
            raise ValueError(f"needs each of {', '.join(PLACEHOLDERS)}, no other {{name}}: {(unknown or missing)[0]}")
        if command.count("{flags}") != 1 or found.count("{flags}") != 1:
            raise ValueError("{flags} must be one word of its own, once: it stands for many words")
        return command


class Declared(Record):
    """What the user says of an endpoint's machine: nothing of it can be measured from outside.

    The names are those of the execution class of a launched engine (`engine/<run>.json`). `kernels` maps each variant
    with quantized weights to its linear kernel.
    """

    device: str
    compute_capability: str
    engine: str
    engine_version: str
    attention_backend: str
    kernels: dict[str, str] = {}


class _Address(Record):
    mode: Literal["remote"]
    url: str
    api_key_env: Annotated[str | None, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", exclude_if=_unset)] = None
    probes: Annotated[str | None, Field(exclude_if=_unset)] = None
    execution: Declared

    @field_validator("url")
    @classmethod
    def _plain_url(cls, url: str) -> str:
        # No message may quote the address: a refused one may hold a password.
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ValueError("not a URL; give http(s)://host[:port][/path]") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or re.search(r"\s", url):
            raise ValueError("not a URL; give http(s)://host[:port][/path]")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("holds credentials or a query; give the bare address, and the key by api_key_env")
        if parts.path.rstrip("/").endswith("/v1"):
            raise ValueError("leave the /v1 at its end out; it is added to every request")
        return url.rstrip("/")


class RemoteEngine(Driving, Numerics, _Address):
    """An OpenAI-compatible endpoint that runs elsewhere, at `url` (http or https, without `/v1`).

    `api_key_env` names the variable that holds its key. `probes` is the folder of recorded probes to hold it against
    (null: `runs/<profile>/probes`). `execution` is declared, and so is the evidence.
    """

    @property
    def device(self) -> str:
        """No device of this machine."""
        return "remote"

    @property
    def flags(self) -> list[str]:
        """None that this project gives."""
        return []

    @property
    def environment(self) -> dict[str, str]:
        """None that this project sets."""
        return {}


Engine = LaunchEngine | CommandEngine | RemoteEngine


def launched(engine: Engine, what: str) -> LaunchEngine:
    """The engine of a profile that launches it. Raises `InputError` saying that `what` needs one."""
    if not isinstance(engine, LaunchEngine):
        raise InputError(f"engine.mode is {engine.mode}: {what} needs mode launch")
    return engine
