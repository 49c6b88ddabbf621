"""One thing found in an answer, and how the findings of an answer become its two verdicts.

An answer without findings is strictly right. It is tolerantly right when every finding carries the name of the
lossless recovery that undid it; a finding without one is an error under both verdicts. So strict implies tolerant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalsets.records import Json
from judges.taxonomy import rank
from judges.verdicts import Error

Span = tuple[int, int]
EVIDENCE_LENGTH = 160
MAX_ERRORS = 200  # kept of one answer, in the order of precedence


# Not frozen, because many are made for every answer, and to freeze one costs as much as four unfrozen ones.
@dataclass(slots=True)
class Finding:
    """An error of kind `kind` (a label of `judges.taxonomy`).

    `recovery` names the lossless recovery that undid it, or is empty. `path` is a JSON pointer, `span` offsets into
    the raw text, `expected` and `got` short evidence.
    """

    kind: str
    path: str = ""
    expected: str | None = None
    got: str | None = None
    span: Span | None = None
    recovery: str = ""


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """The findings in the order of precedence; where that is equal, in the order they were made."""
    return sorted(findings, key=lambda finding: rank(finding.kind, finding.span))


def at(finding: Finding, span: Span) -> Finding:
    """The finding with a span, where it has none yet."""
    if finding.span:
        return finding
    return Finding(finding.kind, finding.path, finding.expected, finding.got, span, finding.recovery)


def as_errors(findings: Sequence[Finding]) -> list[Error]:
    """The findings as they are recorded, in the order of precedence, at most `MAX_ERRORS`."""
    return [
        Error(kind=f.kind, path=evidence(f.path), expected=_shown(f.expected), got=_shown(f.got), span=f.span)
        for f in ordered(findings)[:MAX_ERRORS]
    ]


def _shown(text: str | None) -> str | None:
    return None if text is None else evidence(text)


def recoveries(findings: Sequence[Finding]) -> list[str]:
    """The lossless recoveries that were applied, each once, in the order they were applied."""
    return list(dict.fromkeys(finding.recovery for finding in findings if finding.recovery))


def tolerable(findings: Sequence[Finding]) -> bool:
    """Whether every finding was undone by a lossless recovery."""
    return all(finding.recovery for finding in findings)


def pointer(*steps: str | int) -> str:
    """The JSON pointer (RFC 6901) of the given steps, such as `/0/arguments/amount`."""
    return "".join(["/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps])


def evidence(text: str) -> str:
    """A text cut to `EVIDENCE_LENGTH` characters, with lone surrogates spelled out so that it can be written."""
    if len(text) > EVIDENCE_LENGTH:
        text = text[: EVIDENCE_LENGTH - 1] + "…"
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def spell(value: Json) -> str:
    """A JSON value as evidence: numbers keep their spelling, strings are quoted."""
    return evidence(_spell(value))


def _spell(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}": {_spell(inner)}' for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_spell(inner) for inner in value) + "]"
    return str(value)
