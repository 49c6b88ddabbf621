"""Judges answers to questions: by the item's match kind, after its named normalisers. Numbers compare as Decimal."""

from __future__ import annotations

import hashlib

from evalsets.items import QaItem
from evalsets.responses import Response
from judges.answers import check_answer
from judges.findings import Finding, as_errors
from judges.turn import read_turn, runs_away, too_long
from judges.verdicts import Verdict


def judge_answer(item: QaItem, response: Response) -> Verdict:
    """The verdict on one answer to a question. Pure and total: no answer makes it raise.

    Strict and tolerant agree here: what an item lets pass is named in its match, for both verdicts. End-of-turn
    tokens and a closed think block are no part of the answer; a think block that is never closed leaves none.
    """
    sha256 = hashlib.sha256(response.raw.encode("utf-8", "surrogatepass")).hexdigest()
    if response.status == "infra":
        return Verdict(
            item_id=item.id, suite="qa", run=response.run, status="unjudged", primary="infra", raw_sha256=sha256
        )
    findings = judge_text(item, response.raw, response.capped or response.finish_reason == "length")
    errors = as_errors(findings)
    return Verdict(
        item_id=item.id,
        suite="qa",
        run=response.run,
        status="judged",
        strict_ok=not findings,
        tolerant_ok=not findings,
        primary=errors[0].kind if errors else None,
        errors=errors,
        completion_tokens=len(response.token_ids),
        raw_sha256=sha256,
    )


def judge_text(item: QaItem, raw: str, capped: bool) -> list[Finding]:
    """The findings of a full completion; none where it is right."""
    length = too_long(raw)
    if length is not None:
        return [Finding("garbage", expected="at most 65536 bytes", got=f"{length} bytes")]
    turn = read_turn(raw)
    text = "" if turn.open_think else raw[turn.start : turn.end]
    finding = check_answer(item, text)
    if finding is None:
        return []
    findings = [Finding("truncated", got="token cap reached")] if capped else []
    unit = runs_away(raw[turn.start : turn.end])
    if unit is not None:
        findings.insert(0, Finding("garbage", got=f"{unit!r} repeated to the end"))
    return [*findings, finding]
