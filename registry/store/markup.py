"""Text from outside, made harmless for the places where a browser shows it. Pure."""

from __future__ import annotations

import unicodedata

# Everything that starts an inline construct in Markdown, tables and auto-links included. `<`, `>`, `&` and `@` become
# character references: they must also stay harmless where a renderer does not know backslash escapes. So do `:`, `$`
# and `^`: MLflow's renderer shows a backslash before one of these.
BACKSLASHED = frozenset("\\`*_{}[]()#+!|~.=")
REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", ":": "&#58;", "$": "&#36;", "^": "&#94;"}


def one_line(text: str) -> str:
    """`text` with every run of white space as one space, and control, format and surrogate characters as U+FFFD."""
    flat = " ".join(text.split())
    return "".join("\ufffd" if unicodedata.category(mark).startswith("C") else mark for mark in flat)


def plain(text: str) -> str:
    """`text` for a tag or parameter: one line, with no mark-up that HTML would read."""
    return "".join(REFERENCES.get(mark, mark) if mark in "&<>" else mark for mark in one_line(text))


def markdown(text: str) -> str:
    """`text` for a place inside a Markdown line or table cell, where it reads as written and does nothing else."""
    return "".join(REFERENCES.get(mark) or ("\\" + mark if mark in BACKSLASHED else mark) for mark in one_line(text))


def row(cells: list[str]) -> str:
    """One row of a Markdown table from cells that are Markdown already."""
    return "| " + " | ".join(cells) + " |"
