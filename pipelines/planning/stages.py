"""The stages of a profile in order, and which of them DVC finds stale.

The list is rendered from dvc.yaml for any profile; what is stale is known for the active one alone, whose params.yaml
DVC reads.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import environ
from pathlib import Path, PurePosixPath
from typing import Any

from evalsets.records import InputError
from pipelines.params import read_settings
from pipelines.planning.records import StageState
from pipelines.stage import QUIET

PIPELINE = Path("dvc.yaml")
PLACE = re.compile(r"\$\{([\w.-]+)\}")
Status = Mapping[str, Sequence[str | Mapping[str, Any]]]


@dataclass(frozen=True)
class Stage:
    """A stage with the paths that it reads and writes."""

    name: str
    deps: tuple[str, ...]
    outs: tuple[str, ...]


def rendered(pipeline: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Stage]:
    """The stages of a dvc.yaml under these settings, in its order, `foreach` written out as DVC does.

    Raises `InputError` naming a place `${…}` that the settings lack.
    """
    found = []
    for name, body in pipeline["stages"].items():
        if "foreach" not in body:
            found.append(_stage(name, body, settings))
            continue
        items = _value(str(body["foreach"])[2:-1], settings)
        pairs = items.items() if isinstance(items, Mapping) else [(item, item) for item in items]
        for key, item in pairs:
            found.append(_stage(f"{name}@{key}", body["do"], {**settings, "key": key, "item": item}))
    return found


def states(stages: Sequence[Stage], status: Status | None) -> list[StageState]:
    """Each stage's state. `status` is what `dvc status --json` printed; None: not known.

    A stage that reads what a stale one writes `follows`: DVC runs it only where that comes out different.
    """
    if status is None:
        return [StageState(name=stage.name, state="unknown") for stage in stages]
    found, changing = [], set[str]()
    for stage in stages:
        why = [text for entry in status.get(stage.name, []) for text in _changes(entry)]
        follows = any(_touch(dep, out) for dep in stage.deps for out in changing)
        found.append(
            StageState(name=stage.name, state="stale" if why else "follows" if follows else "current", why=why)
        )
        if why or follows:
            changing |= set(stage.outs)
    return found


def read_pipeline() -> dict[str, Any]:
    """dvc.yaml. Raises `InputError` where it is not there or no YAML."""
    return read_settings(PIPELINE)


def read_status() -> Status:
    """What `dvc status --json` says of the active profile. Raises `InputError` with DVC's last line where it cannot."""
    dvc = [str(Path(sys.executable).with_name("dvc")), "status", "--json"]
    try:
        done = subprocess.run(dvc, env=environ | QUIET, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"dvc: {error.strerror}; run: make setup") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["nothing"]
        raise InputError(f"dvc status failed: {said[-1].strip()}; wait for a run that is under way, or run: make setup")
    found: dict[str, list[str | dict[str, Any]]] = json.loads(done.stdout)
    return found


def _stage(name: str, body: Mapping[str, Any], settings: Mapping[str, Any]) -> Stage:
    outs = [next(iter(out)) if isinstance(out, Mapping) else out for out in body.get("outs", [])]
    return Stage(
        name,
        tuple(_filled(dep, settings) for dep in body.get("deps", [])),
        tuple(_filled(out, settings) for out in outs),
    )


def _filled(text: str, settings: Mapping[str, Any]) -> str:
    return PLACE.sub(lambda found: str(_value(found[1], settings)), text)


def _value(key: str, settings: Mapping[str, Any]) -> Any:
    value: Any = settings
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise InputError(f"{PIPELINE}: ${{{key}}} is not in the profile; correct one of the two")
        value = value[part]
    return value


def _touch(dep: str, out: str) -> bool:
    """Whether one path is the other, or lies in it."""
    one, other = PurePosixPath(dep), PurePosixPath(out)
    return one.is_relative_to(other) or other.is_relative_to(one)


def _changes(entry: str | Mapping[str, Any]) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    found = []
    for kind, paths in entry.items():
        for path, state in paths.items() if isinstance(paths, Mapping) else ():
            # Parameters stand one level deeper, by key.
            names = ", ".join(state) if isinstance(state, Mapping) else str(state)
            found.append(f"{kind.removeprefix('changed ').removesuffix('s')} {path}: {names}")
    return found or list(entry)
