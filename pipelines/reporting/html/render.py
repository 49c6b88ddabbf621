"""The templates, and what is let through their escaping: nothing but what is made here for that purpose. Pure.

The page may run and style itself only by what it carries: its content security policy names the digests of the one
style sheet and the one script, and forbids every request.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pipelines.reporting.differences import View
from pipelines.reporting.text import CLOSE, LINE_LIMIT, NEWLINE, OPEN, said_cut
from registry.store.markup import one_line

HERE = Path(__file__).parent
EMPTY = "(empty)"


def render(template: str, **values: Any) -> Markup:
    """A template of this package with every value escaped. Raises `jinja2.UndefinedError` for one it is not given."""
    return Markup(_environment().get_template(template).render(values))


def script_json(value: Any) -> Markup:
    """JSON that can stand in a script element: no character in it ends the element or a line."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


def asset(name: str) -> str:
    """The text of the style sheet or the script."""
    return (HERE / "templates" / name).read_text("utf-8")


def content_policy(style: str, script: str) -> str:
    """The content security policy of a page that carries exactly this style sheet and this script."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def line(text: str, limit: int = LINE_LIMIT) -> str:
    """A text for a place inside a line: one line, cut to `limit` characters, which is said."""
    if len(text) > limit:
        return f"{one_line(text[:limit])} … ({len(text) - limit:,} more characters)"
    return one_line(text)


def passage(view: View) -> Markup:
    """A view of a longer text, escaped, with marks around its marked pieces."""
    if not view.length:
        return Markup('<span class="none">{}</span>').format(EMPTY)
    return Markup("").join(_piece(piece.text, piece.marked) for piece in view.pieces)


def cut(view: View) -> str:
    """Which part of a text a view is, or nothing where it is the whole."""
    return said_cut(view.start, view.end, view.length).strip()


def _piece(text: str, marked: bool) -> Markup:
    # Every line mark is the report's own: a text that holds one has it spelled as a code point.
    shown = escape(text).replace(NEWLINE, Markup('<span class="nl">{}</span>').format(NEWLINE))
    if not marked:
        return shown
    if not text:
        return Markup('<mark class="gap">{}</mark>').format(OPEN + CLOSE)
    if not text.strip(f" \n{NEWLINE}"):
        return Markup('<mark class="space">{}</mark>').format(shown)
    return Markup("<mark>{}</mark>").format(shown)


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"line": line, "passage": passage, "cut": cut}
    return environment
