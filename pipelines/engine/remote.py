"""An endpoint that runs elsewhere: is it there, does it take the key, and does it serve the weights that are meant."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import requests
from tqdm import tqdm

from evalsets.records import InputError
from pipelines.engine.launch import ask, is_healthy
from pipelines.engine.record import answered_version
from pipelines.engine.settings import masked
from pipelines.engine_modes import RemoteEngine

EVERY_S = 2.0


def key_of(engine: RemoteEngine) -> str | None:
    """The endpoint's key, from the variable that the profile names. Raises `InputError` where it is not set."""
    if engine.api_key_env is None:
        return None
    key = os.environ.get(engine.api_key_env, "").strip()
    if not key:
        raise InputError(f"engine.api_key_env: {engine.api_key_env} is not set; export it with the endpoint's key")
    return key


def await_healthy(engine: RemoteEngine, key: str | None) -> float:
    """Wait until the endpoint is healthy and return after how many seconds. Raises `InputError` where it is not."""
    started = time.monotonic()
    with tqdm(desc="endpoint", unit="s", bar_format="{desc} {elapsed}", disable=None) as bar:
        while not is_healthy(engine.url, key):
            if time.monotonic() - started > engine.start_timeout_s:
                raise InputError(
                    f"{engine.url}: not healthy within {engine.start_timeout_s} s (/health, else /v1/models); "
                    "no item was asked; start the endpoint or correct engine.url, and run again"
                )
            time.sleep(EVERY_S if engine.start_timeout_s > EVERY_S else 0.1)
            bar.update(0)
    return round(time.monotonic() - started, 1)


def check_served(engine: RemoteEngine, name: str, key: str | None) -> None:
    """Raise `InputError` where the endpoint does not serve a model called `name`, or says to be another version."""
    problem = name_problem(_models(engine, key), name)
    if problem is not None:
        raise InputError(f"{engine.url}: {masked(problem, hidden_values(key))}; no item was asked")
    declared, said = engine.execution.engine_version, answered_version(engine.url, key)
    if said is not None and said != declared:
        raise InputError(
            f"{engine.url}: it is version {masked(said, hidden_values(key))}, engine.execution.engine_version declares "
            f"{declared}; correct the profile (the execution class is another one)"
        )


def name_problem(served: Sequence[str], name: str) -> str | None:
    """Why none of the served names is `name`, which is `<model>@<12 digits of the weights digest>`; None if one is.

    An endpoint discloses no digest of its weights but the one in the name it was started with.
    """
    if name in served:
        return None
    model, _, digits = name.rpartition("@")
    others = [other.removeprefix(f"{model}@") for other in served if other.startswith(f"{model}@")]
    if others:
        return (
            f"it serves {model} with weights {', '.join(others)}, the variant's are {digits}; deploy the checkpoint "
            f"that was made here, or make the variant again"
        )
    if model in served:
        return f"it serves {model} without saying which weights; start it with --served-model-name {name}"
    return f"it serves no {name} but {', '.join(served[:5]) or 'nothing'}; start it with --served-model-name {name}"


def hidden_values(key: str | None) -> frozenset[str]:
    """What of an endpoint must not reach a file or a message."""
    return frozenset({key} if key else ())


def _models(engine: RemoteEngine, key: str | None) -> list[str]:
    url = f"{engine.url}/v1/models"
    try:
        reply = ask(url, 30, key)
    except requests.RequestException as error:
        raise InputError(f"{url}: {type(error).__name__}; check the endpoint and run again") from None
    if reply.status_code in (401, 403):
        given = f"the key in {engine.api_key_env}" if engine.api_key_env else "a request without a key"
        raise InputError(f"{url}: refuses {given} (HTTP {reply.status_code}); set engine.api_key_env and its variable")
    try:
        return [str(model["id"]) for model in reply.json()["data"]]
    except (ValueError, LookupError, TypeError):
        raise InputError(
            f"{url}: HTTP {reply.status_code} and no list of models, so that nothing says which weights it serves; "
            "give an OpenAI-compatible endpoint in engine.url"
        ) from None
