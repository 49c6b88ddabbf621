"""Judges tool calls: the raw completion, and next to it what the serving engine's parser made of the same text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from evalsets.items import Dialect, GoldCall, Tool, ToolItem
from evalsets.responses import Response
from judges.call_shape import Reading, Tools, tools_by_name
from judges.envelope_hermes import read_bare, read_hermes
from judges.envelope_native import NativeCall, read_tool_calls
from judges.envelope_xml import read_xml
from judges.findings import Finding, as_errors, recoveries, tolerable
from judges.match import compare_calls
from judges.turn import UNTHINK, Turn, read_turn, runs_away, too_long
from judges.verdicts import EngineVerdict, Verdict

NATURAL_ENDS = ("stop", "tool_calls", "function_call", "end_turn", "stop_sequence")
CALL_TAGS = ("<tool_call>", "<function=")
_NOT_READ = EngineVerdict(status="not_applicable")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of an answer. `refrain`: to make no call is right; `act`: to make `calls` is right, in their order
    where `strict_order` is set. At least one of the two holds."""

    calls: Sequence[GoldCall]
    refrain: bool
    act: bool
    strict_order: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """How a completion ended: `capped` by its token limit, `natural` if it is known to have stopped by itself."""

    capped: bool
    natural: bool


def judge_call(
    item: ToolItem, tools: Sequence[Tool], response: Response, dialect: Dialect, engine_reads: bool
) -> Verdict:
    """The verdict on one answer to a tool item. Pure and total: no answer makes it raise.

    `tools` are those of the item's toolset, `dialect` the envelope that the profile's model is taught. Where an engine
    parser reads the dialect (`engine_reads`) its own reading gets a second verdict, else that is `not_applicable`.
    """
    sha256 = hashlib.sha256(response.raw.encode("utf-8", "surrogatepass")).hexdigest()
    if response.status == "infra":
        return Verdict(
            item_id=item.id, suite="tools", run=response.run, status="unjudged", primary="infra", raw_sha256=sha256
        )
    declared = tools_by_name([(tool.function.name, tool.function.parameters) for tool in tools])
    wanted = wanted_by(item)
    findings = judge_text(response.raw, wanted, declared, dialect, ending(response))
    errors = as_errors(findings)
    return Verdict(
        item_id=item.id,
        suite="tools",
        run=response.run,
        status="judged",
        strict_ok=not findings,
        tolerant_ok=tolerable(findings),
        primary=errors[0].kind if errors else None,
        errors=errors,
        recoveries=recoveries(findings),
        engine=_judge_engine(response, wanted, declared) if engine_reads else _NOT_READ,
        completion_tokens=len(response.token_ids),
        raw_sha256=sha256,
    )


def wanted_by(item: ToolItem) -> Wanted:
    """What a tool item wants."""
    return Wanted(item.calls, item.expect != "call", item.expect != "no_call", item.order == "strict")


def ending(response: Response) -> Ending:
    """How a response ended, whatever its `finish_reason` says about a reached cap."""
    capped = response.capped or response.finish_reason == "length"
    return Ending(capped, not capped and response.finish_reason in NATURAL_ENDS)


def judge_text(raw: str, wanted: Wanted, tools: Tools, dialect: Dialect, end: Ending) -> list[Finding]:
    """The findings of a full completion in a dialect; none where it is right."""
    length = too_long(raw)
    if length is not None:
        return [Finding("garbage", expected="at most 65536 bytes", got=f"{length} bytes")]
    turn = read_turn(raw)
    natural = end.natural or (turn.ended and not end.capped)
    read = {"hermes": read_hermes, "bare": read_bare, "qwen_xml": read_xml}[dialect]
    findings = judge_reading(read(turn, tools, natural), wanted, tools, end.capped)
    if findings or wanted.refrain:
        unit = runs_away(raw[turn.start : turn.end])
        if unit is not None:
            return [Finding("garbage", got=f"{unit!r} repeated to the end"), *findings]
    if findings and findings[0].kind == "no_call" and _called_in_thought(turn):
        findings = [*findings, Finding("in_think", span=(0, turn.start))]
    return findings


def judge_native(native: Sequence[NativeCall], wanted: Wanted, tools: Tools, end: Ending) -> list[Finding]:
    """The findings of calls that came as calls; none where they are right."""
    for entry in native:
        length = too_long(entry.arguments) if isinstance(entry.arguments, str) else None
        if length is not None:
            return [Finding("garbage", expected="at most 65536 bytes", got=f"{length} bytes")]
    findings = judge_reading(read_tool_calls(native, tools, end.natural), wanted, tools, end.capped)
    unit = runs_away(native[-1].arguments) if findings and native and isinstance(native[-1].arguments, str) else None
    return [Finding("garbage", got=f"{unit!r} repeated to the end"), *findings] if unit else findings


def judge_reading(reading: Reading, wanted: Wanted, tools: Tools, capped: bool) -> list[Finding]:
    """The findings of what was read against what is wanted; `truncated` first where a capped answer is not right."""
    attempt = reading.attempt and not (reading.example and wanted.refrain)
    if not attempt:
        findings = [] if wanted.refrain else [Finding("no_call", expected="a call")]
    elif not wanted.act:
        names = ", ".join(call.name or "?" for call in reading.calls)
        findings = [Finding("call_unneeded", expected="no call", got=names), *_without_garbage(reading)]
    else:
        findings = [*reading.findings, *compare_calls(wanted.calls, reading.calls, tools, wanted.strict_order)]
    return [Finding("truncated", got="token cap reached"), *findings] if findings and capped else findings


def _without_garbage(reading: Reading) -> list[Finding]:
    """A malformed attempt is still one where no call is wanted: it is `call_unneeded` before it is unreadable."""
    return [
        Finding("json_syntax.not_json", f.path, f.expected, f.got, f.span) if f.kind == "garbage" else f
        for f in reading.findings
    ]


def _called_in_thought(turn: Turn) -> bool:
    thought = turn.raw[: turn.start]
    return UNTHINK in thought and any(tag in thought for tag in CALL_TAGS)


def _judge_engine(response: Response, wanted: Wanted, tools: Tools) -> EngineVerdict:
    """The verdict on the calls that the engine's parser returned, judged as strictly as the raw text."""
    if response.parsed is None:
        return _NOT_READ
    native = [NativeCall(call.name, call.arguments) for call in response.parsed.tool_calls]
    findings = judge_native(native, wanted, tools, ending(response))
    errors = as_errors(findings)
    return EngineVerdict(status="judged", ok=not findings, primary=errors[0].kind if errors else None)
