"""YAML as every reader reads it: keys in their given order, any string that some reader could take otherwise quoted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from evalsets.records import InputError, Record, explain

R = TypeVar("R", bound=Record)
# Words that YAML 1.1 or 1.2 readers may take for something other than a string.
RESERVED = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")


class _Dumper(yaml.SafeDumper):
    """PyYAML leaves `1e9` bare, a number to readers of YAML 1.2; here it is quoted. No anchors: not all read them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    plain = PLAIN.fullmatch(value) and value.lower() not in RESERVED
    # Single quotes escape nothing: what holds double quotes stays legible.
    quotes = "'" if '"' in value and value.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else quotes)


_Dumper.add_representer(str, _string)


def yaml_text(value: Any, head: str = "") -> str:
    """`value` (dicts, lists, strings, numbers, booleans, None) as block YAML, each line of `head` a comment above."""
    comments = "".join(f"# {line}\n" for line in head.splitlines())
    return comments + yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000, default_flow_style=False
    )


def read_yaml(path: Path, model: type[R]) -> R:
    """The record at `path`. Raises `InputError` naming file and key."""
    try:
        return model.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run the stage that writes it (dvc repro)") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: not YAML in UTF-8: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}") from None
