"""The named normalisers of a QA item: each does one thing to a text, and nothing happens that is not named."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from evalsets.items import Normaliser
from judges.string_classes import half_width

_LABEL = re.compile(r"\s*(?:final answer|answer|答案|回答|答)\s*[:：]\s*", re.IGNORECASE)
_QUOTES = (("**", "**"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("`", "`"))
_CLOSING = "。．.!！?？;；,，、"
_GROUPED = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:[,，][0-9]{3})+(?![0-9])")


def normalise(text: str, normalisers: Sequence[Normaliser]) -> str:
    """The text after the named normalisers, applied in the given order."""
    for name in normalisers:
        text = _BY_NAME[name](text)
    return text


def first_line(text: str) -> str:
    """The first line that is not blank, or an empty text."""
    return next((line for line in text.splitlines() if line.strip()), "")


def drop_label(text: str) -> str:
    """Without one leading `Answer:`, `Final answer:`, `答案：`, `回答：` or `答：`."""
    match = _LABEL.match(text)
    return text[match.end() :] if match else text


def unquote(text: str) -> str:
    """Without one pair of quotes, backticks or `**` around the whole; white space outside them goes too."""
    inner = text.strip()
    for left, right in _QUOTES:
        if inner.startswith(left) and inner.endswith(right) and len(inner) > len(left) + len(right):
            return inner[len(left) : -len(right)]
    return text


def trim_punct(text: str) -> str:
    """Without closing punctuation (and white space) at the end."""
    trimmed = text.rstrip()
    while trimmed and trimmed[-1] in _CLOSING:
        trimmed = trimmed[:-1].rstrip()
    return trimmed


def drop_thousands(text: str) -> str:
    """Numbers without the commas between groups of three digits."""
    return _GROUPED.sub(lambda match: match.group().replace(",", "").replace("，", ""), text)


_BY_NAME: dict[Normaliser, Callable[[str], str]] = {
    "strip": str.strip,
    "first_line": first_line,
    "drop_label": drop_label,
    "unquote": unquote,
    "trim_punct": trim_punct,
    "ascii_width": half_width,
    "casefold": str.casefold,
    "collapse_space": lambda text: " ".join(text.split()),
    "drop_space": lambda text: "".join(text.split()),
    "drop_thousands": drop_thousands,
}
