"""Lint of the data alone: `python -m evalsets.lint` checks suites, toolsets and calibration, and prints their tables.

What needs a judge or statistics is checked elsewhere. Every problem names file and item.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evalsets.items import CalibrationRow, GoldCall, Item, QaItem, ToolItem, Toolset
from evalsets.load import load_toolsets
from evalsets.records import InputError, read_rows, unique_by_id

DATA = Path("evalsets/data")


def main() -> None:
    """Lint a folder of suites; exit code 0 when clean, 2 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m evalsets.lint", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="folder of the suites (evalsets/data)")
    folder = parser.parse_args().folder
    try:
        qa = read_rows(folder / "qa.jsonl", QaItem)
        tools = read_rows(folder / "tool_calls.jsonl", ToolItem)
        toolsets = load_toolsets(folder / "toolsets.json")
        calibration = read_rows(folder / "calibration.jsonl", CalibrationRow)
        unique_by_id([*qa, *tools], "id", str(folder))
        unique_by_id(calibration, "id", str(folder / "calibration.jsonl"))
    except InputError as error:
        sys.exit(f"error: {error}")
    print(table("qa.jsonl", qa))
    print(table("tool_calls.jsonl", tools))
    found = [*tool_problems(tools, toolsets), *schema_problems(toolsets), *overlap_problems([*qa, *tools], calibration)]
    for problem in found:
        print(f"error: {folder}: {problem}", file=sys.stderr)
    sys.exit(2 if found else 0)


def table(name: str, items: Sequence[Item]) -> str:
    """Counts of a suite by domain, language, kind and cluster size, as text."""
    kinds = Counter(item.match.kind if isinstance(item, QaItem) else (item.tags or ["-"])[0] for item in items)
    sizes = Counter(item.cluster for item in items)
    lines = [f"{name}: {len(items)} items, {len(sizes)} clusters of {min(sizes.values())} to {max(sizes.values())}"]
    for label, counts in (
        ("domain", Counter(item.domain for item in items)),
        ("lang", Counter(item.lang for item in items)),
        ("kind", kinds),
        ("must_pass", Counter(str(item.must_pass).lower() for item in items)),
    ):
        lines.append(f"  {label}: " + ", ".join(f"{key} {count}" for key, count in sorted(counts.items())))
    return "\n".join(lines)


def tool_problems(items: Sequence[ToolItem], toolsets: dict[str, Toolset]) -> Iterator[str]:
    """Golds that do not fit their toolset: unknown toolset, tool or argument, missing required argument."""
    for item in items:
        if item.toolset not in toolsets:
            yield f"{item.id}: no toolset {item.toolset!r}; add it to toolsets.json"
            continue
        if (item.expect == "no_call") == bool(item.calls):
            yield f"{item.id}: expect is {item.expect} with {len(item.calls)} calls; one of the two is wrong"
        functions = {tool.function.name: tool.function.parameters for tool in toolsets[item.toolset].tools}
        for call in item.calls:
            if call.name not in functions:
                yield f"{item.id}: {item.toolset} has no tool {call.name!r}; it has {', '.join(functions)}"
            else:
                yield from (
                    f"{item.id}: {call.name}: {text}" for text in _argument_problems(call, functions[call.name])
                )


def schema_problems(toolsets: dict[str, Toolset]) -> Iterator[str]:
    """Schemas that reach outside: a `$ref` that is not local to its schema."""
    for toolset in toolsets.values():
        for tool in toolset.tools:
            for reference in _references(tool.function.parameters):
                if not reference.startswith("#"):
                    where = f"{toolset.name}.{tool.function.name}"
                    yield f"{where}: $ref {reference!r} is not local; copy it into the schema"


def overlap_problems(items: Sequence[Item], calibration: Sequence[CalibrationRow]) -> Iterator[str]:
    """Calibration conversations that hold a user message of a suite."""
    asked = {message.content: item.id for item in items for message in item.messages if message.role == "user"}
    for row in calibration:
        for message in row.messages:
            if message.role == "user" and message.content in asked:
                yield f"calibration row {row.id} repeats {asked[message.content]}; write another one"


def _argument_problems(call: GoldCall, schema: dict[str, Any]) -> Iterator[str]:
    declared = schema.get("properties", {})
    for key in call.args:
        if key not in declared:
            yield f"argument {key!r} is not declared; there are {', '.join(declared)}"
    for key in schema.get("required", []):
        if key not in call.args:
            yield f"required argument {key!r} has no gold value"


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


if __name__ == "__main__":
    main()
