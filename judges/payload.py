"""The JSON values in a stretch of the raw text, read strictly or, where a rule allows it, without loss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evalsets.records import Json
from judges.bare_words import SPECIAL_TOKEN
from judges.damage import Deviation
from judges.findings import Finding, Span, evidence
from judges.json_reader import decode, skip
from judges.syntax import Diagnosis, diagnose, missing_opener, surplus_closer

OPENING = "{[\"'“｛［"  # what a payload may start with
GARBAGE_TOKENS = 3  # fewer JSON tokens than this before an unexplained damage are no JSON at all

_MAX_OBJECTS = 20  # places in a tail where another object is looked for
_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\r?\n?")
_CLOSERS_TAIL = re.compile(r"[\s}\],]*\Z")
NEXT_VALUE = re.compile(r"[\s,;；]*(?=[{\[｛［])")


@dataclass(frozen=True, slots=True)
class Payload:
    """`values` with their spans in the raw text; empty where not `readable` (what is wrong is in `findings`)."""

    values: tuple[tuple[Json, Span], ...] = ()
    findings: tuple[Finding, ...] = ()
    readable: bool = False


def read_payload(raw: str, start: int, end: int, natural: bool) -> Payload:
    """The values of `raw[start:end]`, which should be one JSON value and nothing else.

    Several values in a row are read as several; text before or after one complete value is dropped, with a finding.
    `natural` as in `judges.syntax.diagnose`.
    """
    start = skip(raw, start)
    end = start + len(raw[start:end].rstrip())
    found = decode(raw, start)
    if found and found[1] == end:
        return Payload(((found[0], (start, end)),), (), True)
    findings: list[Finding] = []
    fence = _FENCE.match(raw, start, end)
    if fence:
        findings.append(fence_finding((start, end)))
        start = skip(raw, fence.end())
        end = end - 3 if raw.endswith("```", start, end) else end
    if raw[start : start + 1] not in OPENING or start >= end:
        start = _after_prose(raw, start, end, findings)
    return _read_values(raw, start, start + len(raw[start:end].rstrip()), natural, findings)


def fence_finding(span: Span) -> Finding:
    """The finding for a payload inside a Markdown fence."""
    return Finding("markdown_fence", got="```", span=span, recovery="one_fence")


def syntax_finding(text: str, base: int, deviation: Deviation) -> Finding:
    """A deviation at its place in the raw text, where `text` starts at offset `base`."""
    got = evidence(text[max(deviation.start - 10, 0) : deviation.end + 10])
    end = min(max(deviation.end, deviation.start), len(text))
    span = (base + min(deviation.start, end), base + end)
    kind = f"json_syntax.{deviation.kind}"
    return Finding(kind, got=got, span=span, recovery=deviation.kind if deviation.lossless else "")


def unexplained(text: str, base: int, tokens: int) -> Finding:
    """The finding for a text that no kind of damage explains: `garbage` where it does not even begin as JSON."""
    kind = "garbage" if text and tokens < GARBAGE_TOKENS else "json_syntax.not_json"
    return Finding(kind, expected="JSON", got=evidence(text), span=(base, base + len(text)))


def _after_prose(raw: str, start: int, end: int, findings: list[Finding]) -> int:
    """The start of the payload where text comes before it; `start` itself where no object follows."""
    brace = raw.find("{", start, end)
    found = decode(raw, start)
    if brace <= start or (found and NEXT_VALUE.match(raw, found[1], end)):
        return start
    bracket = raw.find("[", start, brace)
    listed = decode(raw, bracket) if bracket >= 0 else None
    if listed and listed[1] > brace:
        brace = bracket
    elif decode(raw, brace) is None and not diagnose(raw[brace:end], False).explained:
        return start
    got = evidence(raw[start:brace])
    findings.append(Finding("text_around", got=got, span=(start, brace), recovery="text_around"))
    return brace


def _read_values(raw: str, start: int, end: int, natural: bool, findings: list[Finding]) -> Payload:
    values: list[tuple[Json, Span]] = []
    readable, position = True, start
    while True:
        found = decode(raw, position)
        if found is None or found[1] > end:
            text = raw[position:end]
            diagnosis = diagnose(text, natural)
            findings += _syntax_findings(text, position, diagnosis)
            readable = readable and diagnosis.readable
            found = diagnosis.value, position + diagnosis.end
        values.append((found[0], (position, found[1])))
        following = NEXT_VALUE.match(raw, found[1], end)
        if following is None or following.end() >= end or following.end() <= position:
            break
        position = following.end()
    _judge_row(values, findings)
    last = values[-1][1]
    if raw[last[1] : end].strip():
        findings.append(_tail(raw, last, end, len(values)))
    readable = readable and all(f.recovery for f in findings)
    return Payload(tuple(values) if readable else (), _once(findings), readable)


def _judge_row(values: Sequence[tuple[Json, Span]], findings: list[Finding]) -> None:
    """Several values where one should be: objects in a row are calls in a row, anything else has no reading."""
    if len(values) < 2:
        return
    alone = all(finding.kind != "text_around" for finding in findings)
    findings[:] = [finding for finding in findings if finding.kind != "text_around"]
    objects = all(isinstance(value, dict | list) for value, _ in values)
    span = (values[0][1][0], values[-1][1][1])
    recovery = "objects_in_a_row" if objects and alone else ""
    findings.append(Finding("json_syntax.concatenated", got=f"{len(values)} values", span=span, recovery=recovery))


def _tail(raw: str, last: Span, end: int, count: int) -> Finding:
    """What follows the last value, named: surplus closers, surplus commas, a special token, or text."""
    text, span = raw[last[1] : end], (last[1], end)
    got = evidence(text.strip())
    if _CLOSERS_TAIL.match(text):
        kind = "extra_brace" if text.strip(" \t\r\n,") else "extra_comma"
        return Finding(f"json_syntax.{kind}", got=got, span=span, recovery="tail_of_closers")
    whole = raw[last[0] : end]
    wrong = missing_opener(whole) if text.lstrip()[:1] == ":" else surplus_closer(whole, last[1] - last[0])
    if wrong:
        return syntax_finding(whole, last[0], wrong)
    recovery = "text_around" if count == 1 and not holds_object(raw, last[1], end) else ""
    kind = "special_token" if SPECIAL_TOKEN.match(text.strip()) else "trailing_text"
    return Finding(f"json_syntax.{kind}", got=got, span=span, recovery=recovery)


def holds_object(raw: str, start: int, end: int) -> bool:
    """Whether a stretch of text holds another object, which may be another payload."""
    for _ in range(_MAX_OBJECTS):
        start = raw.find("{", start, end)
        if start < 0:
            return False
        found = decode(raw, start)
        if found and found[1] <= end:
            return True
        start += 1
    return True


def _syntax_findings(text: str, base: int, diagnosis: Diagnosis) -> list[Finding]:
    if not diagnosis.explained:
        return [unexplained(text, base, diagnosis.tokens)]
    found = [syntax_finding(text, base, deviation) for deviation in diagnosis.deviations]
    if diagnosis.readable:
        return [Finding(f.kind, got=f.got, span=f.span, recovery=f.recovery or "missing_closers") for f in found]
    return [Finding(f.kind, got=f.got, span=f.span) for f in found]


def _once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Each kind of finding once, the first of its kind in the text; one without recovery before one with."""
    kept: dict[str, Finding] = {}
    for finding in findings:
        before = kept.get(finding.kind)
        if before is None or (before.recovery and not finding.recovery):
            kept[finding.kind] = finding
    return tuple(kept.values())
