"""Text of the report: what a model or a suite wrote stays text, whatever it holds.

Two places are safe. Inside a line or a table cell `inline` escapes every character that Markdown or HTML reads; long
and foreign text goes into a code fence that nothing in it can close, where GitHub links no name and no number either.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from registry.gate.outcome import printed
from registry.store.markup import markdown, row

LINE_LIMIT = 300  # characters of a text inside a line or a cell
NEWLINE = "⏎"
OPEN, CLOSE = "⟦", "⟧"  # around what differs
LEGEND = (
    f"In the answers `{NEWLINE}` is a line break, `{OPEN} {CLOSE}` encloses what differs from the baseline's answer "
    f"(nothing inside: something was left out there), and `⟨U+0000⟩` is a character that cannot be seen or is one of "
    "these marks."
)
_MARKS = frozenset(f"{NEWLINE}{OPEN}{CLOSE}⟨⟩")


def inline(text: str, limit: int = LINE_LIMIT) -> str:
    """`text` as Markdown for a place inside a line or a table cell: one line, escaped, cut to `limit` characters."""
    if len(text) > limit:
        return f"{markdown(text[:limit])} … ({len(text) - limit:,} more characters)"
    return markdown(text)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown already, or `none` where there are no rows."""
    if not rows:
        return "none"
    return "\n".join(row(list(cells)) for cells in [head, ["---"] * len(head), *rows])


def spelled(text: str) -> str:
    """`text` with nothing hidden: line breaks marked, control, format and odd white space as code points.

    The marks themselves are spelled as code points too, so a mark in the result is always the report's own.
    """
    return "".join(map(_spelled, text))


def fenced(text: str) -> str:
    """A code fence around `text`, longer than any run of its own mark that `text` holds."""
    mark = min("`~", key=lambda mark: _longest_run(mark, text))
    fence = mark * max(3, _longest_run(mark, text) + 1)
    return f"{fence}text\n{text.removesuffix(chr(10))}\n{fence}"


def window(text: str, start: int, limit: int) -> int:
    """The offset up to which `text`, spelled from `start` on, takes at most `limit` characters."""
    room = limit
    for offset in range(start, len(text)):
        room -= len(_spelled(text[offset]))
        if room < 0:
            return offset
    return len(text)


def excerpt(text: str, limit: int) -> str:
    """A fence with the beginning of `text`, spelled, of at most `limit` characters; a cut is said above it."""
    end = window(text, 0, limit)
    return said_cut(0, end, len(text)) + fenced(spelled(text[:end]))


def said_cut(start: int, end: int, length: int) -> str:
    """One line that says which part of a text is shown, or nothing where it is the whole."""
    if start == 0 and end == length:
        return ""
    return f"Cut: characters {start + 1:,} to {end:,} of {length:,}.\n\n"


def code(digest: str) -> str:
    """A digest or another text of word characters as inline code; anything else as escaped text."""
    return f"`{digest}`" if re.fullmatch(r"[\w./-]+", digest, re.ASCII) else inline(digest)


def percent(part: float, whole: float) -> str:
    """`12.5 % (3 of 24)`, or `none judged`; parts that are not whole with two decimals."""
    return f"{100 * part / whole:.1f} % ({printed(part)} of {printed(whole)})" if whole else "none judged"


def joined(*blocks: str) -> str:
    """Blocks of Markdown with an empty line between them; empty blocks are dropped."""
    return "\n\n".join(block for block in blocks if block)


def _spelled(mark: str) -> str:
    if mark == "\n":
        return NEWLINE + "\n"
    if mark in _MARKS or (mark != " " and unicodedata.category(mark)[0] in "CZ"):
        return f"⟨U+{ord(mark):04X}⟩"
    return mark


def _longest_run(mark: str, text: str) -> int:
    return max(map(len, re.findall(re.escape(mark) + "+", text)), default=0)
