"""A gold as a completion: the text that a model which is right would write, with every number as gold spells it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal

from evalsets.items import Dialect, GoldCall
from evalsets.records import Json


def render(value: Json) -> str:
    """A JSON value as JSON text on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{render(key)}: {render(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(render(inner) for inner in value) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def gold_arguments(call: GoldCall) -> dict[str, Json]:
    """The first accepted value of every argument."""
    return {key: argument.any_of[0] for key, argument in call.args.items()}


def call_text(name: str, arguments: Mapping[str, Json], literals: Mapping[str, str] | None = None) -> str:
    """A call as JSON text. `literals` are written as they stand in the place of arguments' values."""
    written = literals or {}
    members = (f"{render(key)}: {written.get(key, render(value))}" for key, value in arguments.items())
    return f'{{"name": {render(name)}, "arguments": {{{", ".join(members)}}}}}'


def completion(calls: Sequence[str], dialect: Dialect) -> str:
    """Calls as JSON text in the envelope of a dialect: `hermes` blocks one after the other, or bare JSON.

    Raises ValueError for `qwen_xml`, whose calls are no JSON.
    """
    if dialect == "qwen_xml":
        raise ValueError("qwen_xml calls are not written as JSON; render golds for hermes or bare")
    if dialect == "bare":
        return calls[0] if len(calls) == 1 else "[" + ", ".join(calls) + "]"
    return "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in calls)
