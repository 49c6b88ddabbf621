"""Every label a verdict may carry: what it means, where it stands in the order of precedence, an example of it.

`python -m judges.taxonomy > docs/taxonomy.md` writes the page; a test holds page and table equal.
"""

from __future__ import annotations

import sys

from judges.labels import STAGES, Label
from judges.labels_content import CONTENT_LABELS
from judges.labels_form import FORM_LABELS

LABELS: dict[str, Label] = {label.name: label for label in (*FORM_LABELS, *CONTENT_LABELS)}

_RANKS = {name: (STAGES.index(label.stage), index) for index, (name, label) in enumerate(LABELS.items())}
_SYNTAX = STAGES.index("json_syntax")

_HEAD = """# Taxonomy of errors

Written by `python -m judges.taxonomy > docs/taxonomy.md`; do not edit by hand.

Every error of an answer is kept. The `primary` label is the first in the order of this page: stage by stage, and
within a stage from the more specific cause to the vaguer one. Within `json_syntax` it is the first in the text.

The examples are answers for one tool, `refund`, and the calls that are wanted of it (`none`: no call is wanted).
`arguments` is the text of `function.arguments`; `hermes`, `bare` and `qwen_xml` are whole completions in that dialect;
`tool_calls` is the list of an API answer; `qa` is an answer to a question. The near miss is what the label must not
be mistaken for, with its own primary label (`ok`: strictly right). A test judges every example and near miss.
"""


def rank(kind: str, span: tuple[int, int] | None = None) -> tuple[int, int]:
    """The place of a label in the order of precedence; smaller is earlier. Syntax labels are placed by their offset."""
    stage, index = _RANKS[kind]
    return (stage, span[0] if span else 0) if stage == _SYNTAX else (stage, index)


def family(label: str) -> str | None:
    """The headline family (`numbers`, `identifiers`, `keys_and_enums`, `json_syntax`) of a label, or None.

    Raises KeyError for a name that is no label.
    """
    return LABELS[label].family


def page() -> str:
    """The text of `docs/taxonomy.md`."""
    parts = [_HEAD]
    for number, stage in enumerate(STAGES, 1):
        parts.append(f"\n## {number}. {stage}\n")
        parts += [_entry(label) for label in LABELS.values() if label.stage == stage]
    return "".join(parts)


def _entry(label: Label) -> str:
    headline = f" (headline family: {label.family})" if label.family else ""
    lines = [f"\n### {label.name}\n\n{label.definition}{headline}\n"]
    if label.example is not None:
        lines.append(f"\n- wanted: {_code(label.gold)}, form `{label.form}`\n- example: {_code(label.example)}\n")
        lines.append(f"- near miss (`{label.near_miss_is}`): {_code(label.near_miss or '')}\n")
    return "".join(lines)


def _code(text: str) -> str:
    """Text as inline code on one line: control characters shown as symbols, in a fence longer than any inside."""
    shown = text.replace("\n", "⏎").replace("\t", "⇥")
    fence = "`"
    while fence in shown:
        fence += "`"
    pad = " " if shown[:1] == "`" or shown[-1:] == "`" or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


if __name__ == "__main__":
    sys.stdout.write(page())
