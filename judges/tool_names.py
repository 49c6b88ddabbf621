"""Which mistake a called name is, when it is not the name that was wanted."""

from __future__ import annotations

import re
from collections.abc import Container

from judges.bare_words import SPECIAL_TOKEN
from judges.keys import folded

_CHANNEL_WORDS = r"(?:json|code|analysis|commentary|final|python|assistant|functions?|tool)"
_TAIL = re.compile(rf"(?:{_CHANNEL_WORDS}+|[\s:{{(\[<\"'`|].*)\Z", re.DOTALL)
_EDGES = " \t\r\n\"'`<>()[]{}*:.,;|/\\"
_HEAD = re.compile(r"(?:[.:/>\s]|__)\Z")


def name_class(wanted: str, called: str, declared: Container[str]) -> str:
    """`tool_name_case`, `tool_name_polluted`, `wrong_tool` (another declared tool) or `hallucinated_tool`."""
    if called in declared:
        return "wrong_tool"
    if folded(called) == folded(wanted):
        return "tool_name_case"
    return "tool_name_polluted" if _polluted(wanted, called) else "hallucinated_tool"


def _polluted(wanted: str, called: str) -> bool:
    """The wanted name with something glued to it: a special token, a channel word, a namespace, quotes, arguments."""
    if SPECIAL_TOKEN.search(called) and wanted in called:
        return True
    if called.strip(_EDGES) == wanted or called == wanted * 2:
        return True
    return any(
        found and (not before or _HEAD.search(before)) and (not after or _TAIL.match(after))
        for before, found, after in (called.partition(wanted), called.rpartition(wanted))
    )
