"""What recomputing needs of a run's params.yaml. A reviewer may bring a policy and suites of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from evalsets.items import Dialect, Suite
from evalsets.records import InputError, Record, explain
from registry.gate.policy import Policy


class SuiteSource(Record):
    """A suite file, how many of its items were asked (None: all), and how often each."""

    path: str
    take: int | None = None
    runs: int = 1


class Settings(Record):
    """The part of a run's settings that judging, comparing and deciding depend on. `runs`: name -> variant."""

    profile: str
    variants: list[str]
    runs: dict[str, str]
    suites: dict[Suite, SuiteSource]
    toolsets: str
    dialect: Dialect
    engine_reads: bool
    policy: Policy


class Asking(Record):
    """What a trusted profile says of the questions and of how answers are judged. None: it does not say."""

    suites: dict[Suite, SuiteSource] | None = None
    toolsets: str | None = None
    dialect: Dialect | None = None
    engine_reads: bool | None = None

    def foreign(self, settings: Settings) -> list[str]:
        """The keys in which a run was asked or judged otherwise, in a fixed order."""
        wanted = {name: getattr(self, name) for name in type(self).model_fields}
        return [name for name, value in wanted.items() if value is not None and value != getattr(settings, name)]


def read_settings(path: Path) -> Settings:
    """Read a rendered params.yaml. Raises `InputError` naming the file and the key that is missing or wrong."""
    values = _mapping(path)
    try:
        engine = values["engine"]
        return Settings.model_validate(
            {
                "profile": values["profile"],
                "variants": list(values["variants"]),
                "runs": {name: run["variant"] for name, run in values["runs"].items()},
                "suites": values["suites"],
                "toolsets": values["toolsets"],
                "dialect": engine["dialect"],
                "engine_reads": engine.get("tool_parser") is not None,
                "policy": values["policy"],
            }
        )
    except KeyError as error:
        raise InputError(f"{path}: no {error}; a rendered params.yaml has it (make use PROFILE=…)") from None
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}") from None


def read_policy(path: Path) -> Policy:
    """The policy of a profile, a params.yaml, or a file that is a policy alone. Raises `InputError` naming the key."""
    values = _mapping(path)
    try:
        return Policy.model_validate(values.get("policy", values))
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}") from None


def read_asking(path: Path) -> Asking:
    """What a profile or a params.yaml says of the questions; nothing where the file is a policy alone."""
    values = _mapping(path)
    engine = values.get("engine", {})
    try:
        return Asking.model_validate(
            {
                "suites": values.get("suites"),
                "toolsets": values.get("toolsets"),
                "dialect": engine.get("dialect"),
                "engine_reads": engine.get("tool_parser") is not None if engine else None,
            }
        )
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}") from None


def _mapping(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; published evidence has one (make evidence)") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: not YAML in UTF-8: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: a mapping of settings is wanted")
    return values
