"""Golds and schemas that cannot be right, whatever a judge says. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalsets.items import GoldCall, ToolItem, Toolset
from evalsets.lint.features import false_tags


def tool_problems(items: Sequence[ToolItem], offered: dict[str, Toolset]) -> Iterator[tuple[str, str]]:
    """(id, fault) of golds that do not fit their toolset, and of tags that the gold belies."""
    for item in items:
        if item.toolset not in offered:
            yield item.id, f"no toolset {item.toolset!r}; add it to toolsets.json"
            continue
        if (item.expect == "no_call") == bool(item.calls):
            yield item.id, f"expect is {item.expect} with {len(item.calls)} calls; one of the two is wrong"
        functions = {tool.function.name: tool.function.parameters for tool in offered[item.toolset].tools}
        for call in item.calls:
            if call.name not in functions:
                yield item.id, f"{item.toolset} has no tool {call.name!r}; it has {', '.join(functions)}"
            else:
                yield from ((item.id, f"{call.name}: {text}") for text in _arguments(call, functions[call.name]))
        for tag in false_tags(item, offered):
            yield item.id, f"tagged {tag}, but its gold holds none; drop the tag or correct the gold"


def schema_problems(toolsets: Sequence[Toolset]) -> Iterator[tuple[str, str]]:
    """(toolset, fault) of schemas that reach outside: a `$ref` that is not local to its schema."""
    for toolset in toolsets:
        for tool in toolset.tools:
            for reference in _references(tool.function.parameters):
                if not reference.startswith("#"):
                    where = f"{toolset.name}.{tool.function.name}"
                    yield toolset.name, f"{where}: $ref {reference!r} is not local; copy it into the schema"


def _arguments(call: GoldCall, schema: dict[str, Any]) -> Iterator[str]:
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
