"""Calls without the dialect's tags: a whole message of JSON, one fence, other tags, JSON inside prose.

For the `bare` dialect a JSON object that is the whole message, or one fence with it, is the expected form. For a
tagged dialect the same text lacks its tags.
"""

from __future__ import annotations

from dataclasses import replace

from judges.attempts import Attempt, before_closing_tags, find_attempt
from judges.call_shape import Reading, Tools
from judges.collector import Collector
from judges.findings import Finding, Span, evidence
from judges.json_reader import skip
from judges.payload import OPENING, holds_object, read_payload
from judges.turn import Turn


def read_untagged(turn: Turn, tools: Tools, natural: bool, tagged: bool) -> Reading:
    """The calls of a turn that has none of the dialect's tags; `tagged` says that the dialect wants some."""
    raw, into = turn.raw, Collector(tools, natural)
    start, end = turn.start, before_closing_tags(turn.raw, turn.start, turn.end)
    attempt = find_attempt(raw, start, end, tools)
    if attempt is None:
        return into.reading(attempt=False)
    whole = _read_spans(raw, attempt, into)
    repair = "tag_repair" if whole else ""
    inside = (attempt.spans[0][0], attempt.spans[-1][1])
    if not any(finding.kind == "inner_format" for finding in into.findings):
        _note_wrapping(raw[start : inside[0]].strip(), attempt, tagged, repair, into)
    surrounded = not attempt.alone and not (tagged and attempt.wrapping == "tag")
    if surrounded and not any(finding.kind == "text_around" for finding in into.findings):
        # After a fence another object may be the payload that was meant.
        only = attempt.wrapping != "fence" or not holds_object(raw, inside[1], end)
        into.note("text_around", (start, end), "text_around" if whole and only else "")
    if not tagged and end < turn.end and attempt.wrapping != "tag":
        into.note("stray_close_tag", (end, turn.end), repair)
    if turn.open_think:
        complete = whole and not raw[inside[1] : end].replace("```", "").strip()
        into.note("in_think", (start, end), "think_ends_in_call" if complete else "")
    return into.reading(example=attempt.wrapping in ("prose", "fence") and not attempt.alone)


def _read_spans(raw: str, attempt: Attempt, into: Collector) -> bool:
    """Read each stretch; whether all calls are whole and of declared tools."""
    whole = True
    for start, end in attempt.spans:
        if attempt.wrapping == "tag" and (start >= end or raw[skip(raw, start)] not in OPENING + "`"):
            into.findings.append(Finding("inner_format", got=evidence(raw[start:end]), span=(start, end)))
            into.unreadable((start, end))
            whole = False
            continue
        payload = read_payload(raw, start, end, into.natural)
        if attempt.wrapping in ("whole", "prose"):
            payload = replace(payload, findings=tuple(_as_prose(finding) for finding in payload.findings))
        whole = into.add_payload(payload, (start, end)) and whole
    return whole


def _note_wrapping(before: str, attempt: Attempt, tagged: bool, repair: str, into: Collector) -> None:
    span: Span = (attempt.spans[0][0], attempt.spans[-1][1])
    if attempt.wrapping == "tag":
        into.note("tag_wrong", span, repair, evidence(before[-40:]))
    elif tagged and attempt.wrapping == "fence":
        into.note("markdown_fence", span, "one_fence")
    elif tagged:
        into.note("tag_missing", span, repair)


def _as_prose(finding: Finding) -> Finding:
    """Text after a payload is prose around it where the payload is not inside tags."""
    return replace(finding, kind="text_around") if finding.kind == "json_syntax.trailing_text" else finding
