"""A prompt in the form that caches best, for a gateway to copy: this file needs Python's standard library alone.

A cached prefix ends at the first token that differs. So what changes from request to request goes behind what does
not: tools by name, their keys sorted, and every line of the system text that holds a moment or an id of the request
at the end of the last user turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# Dates with minutes, UUIDs, and ids of requests. A bare clock time is none: opening hours stand in system texts.
VOLATILE = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}"
    r"|\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?日 ?\d{1,2} ?[:：时]"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?:req|request|trace)[-_ ]?(?:id)?[-_:= ]+(?=[\w-]*\d)[\w-]{6,}",
    re.IGNORECASE,
)


def canonical(
    messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] | None, volatile: re.Pattern[str] = VOLATILE
) -> tuple[list[dict[str, Any]], list[dict[str, Any]] | None]:
    """Messages and tools in their canonical form; the same again changes nothing. The arguments are left alone."""
    return stamps_moved(messages, volatile), None if tools is None else keys_sorted(tools_sorted(tools))


def tools_sorted(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tools by the name of their function."""
    return sorted(tools, key=lambda tool: str(tool["function"]["name"]))


def keys_sorted(value: Any) -> Any:
    """JSON with the keys of every object in order; lists keep theirs."""
    if isinstance(value, dict):
        return {key: keys_sorted(value[key]) for key in sorted(value)}
    return [keys_sorted(inner) for inner in value] if isinstance(value, list) else value


def stamps_moved(messages: Sequence[dict[str, Any]], volatile: re.Pattern[str] = VOLATILE) -> list[dict[str, Any]]:
    """Messages with the volatile lines of system turns at the end of the last user turn; as they are without one."""
    last = max((number for number, message in enumerate(messages) if message["role"] == "user"), default=None)
    if last is None:
        return list(messages)
    made, moved = list(messages), []
    for number, message in enumerate(messages):
        if message["role"] == "system" and message.get("content"):
            lines = message["content"].split("\n")
            moved += [line for line in lines if volatile.search(line)]
            made[number] = message | {"content": "\n".join(line for line in lines if not volatile.search(line))}
    if moved:
        made[last] = made[last] | {"content": "\n".join([made[last]["content"], *moved])}
    return made
