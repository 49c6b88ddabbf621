"""The face that the pipeline calls: what it takes from a response, and the second verdict on the engine's parse."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from evalsets.items import Function, FunctionCall, GoldArgument, GoldCall, Message, Tool, ToolItem
from evalsets.responses import EngineParse, Response
from judges.calls import judge_call
from judges.labels import EXAMPLE_TOOLS
from judges.verdicts import Verdict

TOOLS = [Tool(function=Function(name=name, description="", parameters=p)) for name, p in EXAMPLE_TOOLS.items()]
RIGHT = '<tool_call>\n{"name": "refund", "arguments": {"amount": 12900, "qty": 2}}\n</tool_call><|im_end|>'


def item(expect: Literal["call", "no_call", "either"] = "call", **args: GoldArgument) -> ToolItem:
    wanted = args or {"amount": GoldArgument(any_of=[12900]), "qty": GoldArgument(any_of=[2, 3], omit_ok=True)}
    return ToolItem(
        id="tools-001",
        domain="tools",
        cluster="c",
        split="release",
        lang="zh",
        messages=[Message(role="user", content="退款")],
        toolset="t",
        expect=expect,
        calls=[] if expect == "no_call" else [GoldCall(name="refund", args=wanted)],
    )


def judge(gold: ToolItem, raw: str, engine_reads: bool = False, **response: Any) -> Verdict:
    answer = Response(item_id=gold.id, suite="tools", status="ok", raw=raw, **response)
    return judge_call(gold, TOOLS, answer, "hermes", engine_reads)


def test_verdict_carries_what_the_next_stages_need() -> None:
    verdict = judge(item(), RIGHT, run=3, token_ids=[1, 2, 3], finish_reason="stop")
    assert (verdict.item_id, verdict.suite, verdict.run, verdict.status) == ("tools-001", "tools", 3, "judged")
    assert verdict.strict_ok and verdict.tolerant_ok and verdict.primary is None and verdict.errors == []
    assert verdict.completion_tokens == 3
    assert verdict.raw_sha256 == hashlib.sha256(RIGHT.encode()).hexdigest()
    assert verdict.engine.status == "not_applicable"


def test_infrastructure_failures_are_not_judged() -> None:
    verdict = judge_call(item(), TOOLS, Response(item_id="tools-001", suite="tools", status="infra"), "hermes", True)
    assert (verdict.status, verdict.primary, verdict.strict_ok) == ("unjudged", "infra", False)


def test_accepted_values_and_arguments_that_may_lack() -> None:
    gold = item()
    assert judge(gold, RIGHT.replace('"qty": 2', '"qty": 3')).strict_ok
    assert judge(gold, RIGHT.replace(', "qty": 2', "")).strict_ok
    assert judge(gold, RIGHT.replace('"qty": 2', '"qty": 4')).primary == "value_wrong"
    null = judge(gold, RIGHT.replace('"qty": 2', '"qty": null'))
    assert (null.primary, null.tolerant_ok, null.recoveries) == ("null_vs_absent", True, ["null_as_absent"])


def test_of_several_accepted_values_the_best_explanation_is_kept() -> None:
    gold = item(note=GoldArgument(any_of=["red", "SO-20240017", "blue"]))
    verdict = judge(gold, '<tool_call>{"name": "refund", "arguments": {"note": "SO-20240018"}}</tool_call>')
    assert [(e.kind, e.path, e.expected) for e in verdict.errors] == [
        ("id_drift", "/0/arguments/note", '"SO-20240017"')
    ]


def test_either_accepts_the_call_and_no_call_but_no_other_call() -> None:
    assert judge(item("either"), RIGHT).strict_ok
    assert judge(item("either"), "请问订单号是多少？").strict_ok
    assert judge(item("either"), RIGHT.replace("12900", "1")).primary == "value_wrong"


def test_a_cap_makes_truncated_of_what_is_not_right() -> None:
    assert judge(item(), RIGHT, capped=True).strict_ok
    cut = judge(item(), RIGHT[:40], capped=True, finish_reason="tool_calls")
    assert cut.primary == "truncated" and not cut.tolerant_ok


def test_spans_and_paths_point_into_the_answer() -> None:
    raw = '好的。<tool_call>{"name": "refund", "arguments": {"amount": 12900,}}</tool_call>'
    (error,) = judge(item(), raw).errors
    assert error.kind == "json_syntax.trailing_comma" and error.span is not None
    assert raw[error.span[0] : error.span[1]] == ","
    (wrong,) = judge(item(), RIGHT.replace("12900", "12900.0000001")).errors
    assert (wrong.path, wrong.expected, wrong.got) == ("/0/arguments/amount", "12900", "12900.0000001")


def parse(*arguments: str) -> EngineParse:
    return EngineParse(content=None, tool_calls=[FunctionCall(name="refund", arguments=text) for text in arguments])


def test_the_engine_reads_the_same_text_and_is_judged_beside_it() -> None:
    same = judge(item(), RIGHT, True, parsed=parse('{"amount": 12900, "qty": 2}'))
    assert same.strict_ok and same.engine.ok and same.engine.primary is None
    lost = judge(item(), RIGHT, True, parsed=parse())
    assert lost.strict_ok and (lost.engine.ok, lost.engine.primary) == (False, "no_call")
    drift = RIGHT.replace("12900", "12900.0000000000000001")
    passed = judge(item(), drift, True, parsed=parse('{"amount": 12900.0}'))
    assert (passed.primary, passed.engine.ok) == ("float_drift", True)
    twice = RIGHT.replace('"qty": 2', '"qty": 9, "qty": 2')
    passed = judge(item(), twice, True, parsed=parse('{"amount": 12900, "qty": 2}'))
    assert (passed.primary, passed.engine.ok) == ("json_syntax.duplicate_key", True)


def test_without_an_engine_parser_there_is_no_second_verdict() -> None:
    assert judge(item(), RIGHT, False, parsed=parse("{}")).engine.status == "not_applicable"
    assert judge(item(), RIGHT, True).engine.status == "not_applicable"


def test_engine_calls_where_none_is_wanted() -> None:
    verdict = judge(item("no_call"), "不需要调用。", True, parsed=parse("{}"))
    assert verdict.strict_ok and (verdict.engine.ok, verdict.engine.primary) == (False, "call_unneeded")
