"""Suites out of a Hugging Face dataset: `python -m evalsets.from_datasets MAPPING.yaml --out FOLDER`.

The mapping says where the rows are (local files or a hub repository at a pinned revision) and how a row becomes an
item; no code of the dataset runs. What is written are ordinary suite files, so that digests, lint and evidence work as
with any other. `docs/suites.md` shows a mapping for questions and one for tool calls.
"""

from __future__ import annotations

import argparse
import json
import string
import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from pydantic import ValidationError, model_validator

from evalsets.items import QaItem, ToolItem, Toolset, ToolsetFile
from evalsets.records import InputError, Record, digest, explain, unique_by_id, write_record, write_rows

FILES = {"qa": "qa.jsonl", "tools": "tool_calls.jsonl"}


class Source(Record):
    """Arguments of `datasets.load_dataset`: a hub repository, or `json`, `csv` or `parquet` with `data_files`."""

    path: str
    name: str | None = None
    data_files: str | list[str] | None = None
    split: str = "train"
    revision: str | None = None

    @model_validator(mode="after")
    def _pinned(self) -> Source:
        if self.data_files is None and not (self.revision and len(self.revision) == 40):
            raise ValueError("a hub repository needs `revision`, a 40-digit commit: evidence must say what was asked")
        return self


class RowMapping(Record):
    """How rows become items. `item` has an item's shape (evalsets/items.py); see `value_of` for what fills it.

    `tools` names the column with each row's tools (a list, or one as JSON text, of OpenAI tools or bare functions);
    equal lists become one toolset, and the item's `toolset` is filled in.
    """

    suite: Literal["qa", "tools"]
    source: Source
    item: dict[str, Any]
    tools: str | None = None


def value_of(pattern: Any, row: Mapping[str, Any]) -> Any:
    """What `pattern` stands for in a row.

    A string that is `$column` is that column's value as it is, any other string has its `$column`s replaced (`$$` is a
    dollar). `{from_json: column}` is the value that a column holds as JSON text, `{gold_calls: column}` turns a list
    of `{name, arguments}` into gold calls that accept exactly these arguments. Lists and objects are filled in depth.
    Raises `KeyError` for a column that the row does not have, `ValueError` for text that is not JSON.
    """
    if isinstance(pattern, list):
        return [value_of(inner, row) for inner in pattern]
    if isinstance(pattern, dict):
        match pattern:
            case {"from_json": str(column), **rest} if not rest:
                return _json(row[column])
            case {"gold_calls": str(column), **rest} if not rest:
                return [_gold_call(call) for call in _json(row[column])]
        return {key: value_of(inner, row) for key, inner in pattern.items()}
    return _text(pattern, row) if isinstance(pattern, str) else pattern


def items_of(
    mapping: RowMapping, rows: Iterator[Mapping[str, Any]], where: str
) -> tuple[list[QaItem | ToolItem], list[Toolset]]:
    """Items in row order and the toolsets they use. Raises `InputError` naming the row that makes no item."""
    model: type[QaItem | ToolItem] = QaItem if mapping.suite == "qa" else ToolItem
    items: list[QaItem | ToolItem] = []
    toolsets: dict[str, Toolset] = {}
    for number, row in enumerate(rows):
        try:
            made = value_of(mapping.item, row)
            if mapping.tools is not None:
                toolset = _toolset(_json(row[mapping.tools]))
                toolsets[toolset.name] = toolset
                made = {"toolset": toolset.name} | made
            items.append(model.model_validate(made))
        except KeyError as error:
            columns = ", ".join(row)
            raise InputError(f"{where}: row {number}: no column {error}; the dataset has {columns}") from None
        except ValidationError as error:
            raise InputError(f"{where}: row {number}: {explain(error)}") from None
        except (ValueError, TypeError) as error:
            raise InputError(f"{where}: row {number}: {error}; correct the mapping or the row") from None
    unique_by_id(items, "id", where)
    return items, list(toolsets.values())


def load_rows(source: Source) -> Iterator[Mapping[str, Any]]:
    """The rows of a dataset in its order. Raises `InputError` when it cannot be loaded."""
    from datasets import disable_progress_bars, load_dataset

    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        found = load_dataset(
            source.path, source.name, data_files=source.data_files, split=source.split, revision=source.revision
        )
    except Exception as error:  # whatever a builder raises, the mapping's source is what to look at
        text = " ".join(str(error).split())
        raise InputError(f"source {source.path}: cannot be loaded ({type(error).__name__}: {text})") from None
    return cast(Iterator[Mapping[str, Any]], iter(found))


def read_mapping(path: Path) -> RowMapping:
    """Read a mapping. Raises `InputError` naming the file and every wrong key."""
    try:
        return RowMapping.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}") from None


def main() -> None:
    """Write the suite file, and toolsets where the mapping names them; on an error exit code 2, and nothing written."""
    parser = argparse.ArgumentParser(
        prog="python -m evalsets.from_datasets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mapping", type=Path, help="the YAML file that maps rows to items")
    parser.add_argument("--out", type=Path, required=True, help="folder for the suite files")
    given = parser.parse_args()
    try:
        mapping = read_mapping(given.mapping)
        items, toolsets = items_of(mapping, load_rows(mapping.source), str(given.mapping))
    except InputError as error:
        parser.exit(2, f"error: {error}\n")
    write_rows(given.out / FILES[mapping.suite], items)
    if toolsets:
        write_record(given.out / "toolsets.json", ToolsetFile(toolsets=toolsets))
    print(f"{given.out / FILES[mapping.suite]}: {len(items)} items, {len(toolsets)} toolsets")
    print(f"next: point the profile's suites to it, then python -m evalsets.lint {given.out}")


def _text(pattern: str, row: Mapping[str, Any]) -> Any:
    if pattern[:1] == "$" and pattern[1:].isidentifier():
        return _exact(row[pattern[1:]])
    return string.Template(pattern).substitute(row)


def _exact(value: Any) -> Any:
    return Decimal(repr(value)) if isinstance(value, float) else value


def _json(value: Any) -> Any:
    return json.loads(value, parse_float=Decimal) if isinstance(value, str) else value


def _gold_call(call: Any) -> dict[str, Any]:
    arguments = _json(call["arguments"])
    return {"name": call["name"], "args": {key: {"any_of": [_exact(value)]} for key, value in arguments.items()}}


def _toolset(tools: Any) -> Toolset:
    wrapped = [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools]
    made = Toolset.model_validate({"name": "unnamed", "tools": wrapped})
    return made.model_copy(update={"name": f"tools-{digest([tool.model_dump() for tool in made.tools])[:12]}"})


if __name__ == "__main__":
    main()
