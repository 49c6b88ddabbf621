"""What an item exercises, read off its gold and its schemas: the facts that a suite's make-up is counted by. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from evalsets.items import Item, QaItem, ToolItem, Toolset
from evalsets.records import Json

CAMEL = re.compile(r"^[a-z]+[0-9]*[A-Z]")
LONG_ID = re.compile(r"^(?=.*[0-9])[A-Za-z0-9._/-]{10,}$")
DATE = re.compile(r"\b\d{4}-\d\d(-\d\d)?\b|\b\d{8}\b|\b\d\d:\d\d\b|\d{4}/\d\d/\d\d|\d{1,2}月\d{1,2}日")
SPECIAL = re.compile(r"[\"'“”‘’「」《》{}<>\n\r\t\\\uff01-\uff5e]")
LARGEST_EXACT = 2**53  # integers beyond it are no longer exact as doubles


def facts(item: Item, offered: Mapping[str, Toolset]) -> dict[str, set[str]]:
    """What is true of an item: its `domain`, `lang`, `kind`, `tag`s, `must_pass`, and the `feature`s of its gold.

    `kind` is a question's match kind or a tool item's category (its first tag). A feature is `money` (tagged so, with
    a number in the gold), `enum`, `camel`, `id` (10 characters or more with a digit), `date`, `bigint` (an id beyond
    2^53) or `special` (quotes, braces, line breaks, tag-like text or full-width characters).
    """
    kind = item.match.kind if isinstance(item, QaItem) else (item.tags or ["-"])[0]
    return {
        "domain": {item.domain},
        "lang": {item.lang},
        "kind": {kind},
        "tag": set(item.tags),
        "must_pass": {str(item.must_pass).lower()},
        "feature": _features(item, offered) if isinstance(item, ToolItem) else set(),
    }


def false_tags(item: ToolItem, offered: Mapping[str, Toolset]) -> list[str]:
    """Tags that name a feature which the gold does not have, in tag order."""
    have = _features(item, offered)
    known = {"money", "enum", "camel", "id", "date", "bigint", "special"}
    return [tag for tag in item.tags if tag in known and tag not in have]


def _features(item: ToolItem, offered: Mapping[str, Toolset]) -> set[str]:
    found: set[str] = set()
    functions = {tool.function.name: tool.function.parameters for tool in offered[item.toolset].tools}
    for call in item.calls:
        root = functions.get(call.name, {})
        for key, argument in call.args.items():
            for value in argument.any_of:
                for kind, text in _leaves(key, value, root.get("properties", {}).get(key, {}), root):
                    found |= _of_leaf(kind, text, item.tags)
    return found


def _of_leaf(kind: str, value: Json, tags: list[str]) -> set[str]:
    if kind in ("camel", "enum"):
        return {kind}
    found: set[str] = set()
    if isinstance(value, bool):
        return found
    if isinstance(value, int | Decimal):
        found |= {"money"} & set(tags)
        if abs(Decimal(value)) > LARGEST_EXACT:
            found |= {"bigint", "id"}
    if isinstance(value, str):
        found |= {"money"} & set(tags) if re.search(r"\d", value) else set()
        found |= {name for name, rule in (("date", DATE), ("special", SPECIAL)) if rule.search(value)}
        if LONG_ID.match(value) and not DATE.fullmatch(value):
            found.add("id")
        if value.isdecimal() and int(value) > LARGEST_EXACT:
            found.add("bigint")
    return found


def _leaves(key: str, value: Json, schema: Any, root: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """Every scalar below `value` as ("value", it), and ("camel", key) and ("enum", it) for keys and declared enums."""
    schema = _resolved(schema, root)
    if CAMEL.match(key):
        yield "camel", key
    if isinstance(value, dict):
        for inner_key, inner in value.items():
            yield from _leaves(inner_key, inner, schema.get("properties", {}).get(inner_key, {}), root)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves("", inner, schema.get("items", {}), root)
    else:
        if _declares_enum(schema, root):
            yield "enum", value
        yield "value", value


def _declares_enum(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    branches = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    return "enum" in schema or any("enum" in _resolved(branch, root) for branch in branches)


def _resolved(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that a local reference names (`#/$defs/name`), else the schema itself."""
    if not isinstance(schema, dict):
        return {}
    reference = schema.get("$ref", "")
    if reference.startswith("#/$defs/"):
        found = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
        return dict(found)
    return schema
