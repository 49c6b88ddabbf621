"""The prompt linter, the canonical form that repairs, and what a fault costs."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.serving import canonical as canonical_module
from pipelines.serving.canonical import canonical, keys_sorted
from pipelines.serving.lint_cost import Replay
from pipelines.serving.prompt_lint import Finding, PromptLint
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.request_log import LoggedRequest
from pipelines.serving.simulate import Fleet
from pipelines.serving.volatile import masked, spans
from tests.pipelines.serving.serving_material import SUITES, TOOLSETS, generated, make_request, make_tool

FLEET = Fleet(replicas=2, blocks=4000, block_size=16, max_num_seqs=64, prefill_tok_s=4000.0, inter_token_s=0.001)


def lint(*requests: LoggedRequest) -> list[Finding]:
    faults = PromptLint()
    for request in requests:
        faults.add(request, request.tools if isinstance(request.tools, list) else None)
    return faults.findings()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Now: 2026-03-05 14:05", ["time"]),
        ("现在是2026年3月5日 14:05。", ["time"]),
        ("现在是 14 时 5 分", ["time"]),
        ("at 2026-03-05T14:05:33.120Z", ["time"]),
        ("09:00-21:00", ["time", "time"]),
        ("ts=1772719500", ["time"]),
        ("ts=1772719500123", ["time"]),
        ("id 3f2504e0-4f89-41d3-9a0c-0305e82c3301", ["uuid"]),
        ("request_id: a81kf02", ["request_id"]),
        ("req-8842-11", ["request_id"]),
        ("请求编号：QX20260305", ["request_id"]),
        ("nonce 9f86d081884c7d659a2f", ["nonce"]),
        ("salt kJ8dQ2mZx0LpT4vW7yBn", ["nonce"]),
        ("2026-03-05", []),
        ("Clause 4.2, 1,299 yuan, ratio 3:1", []),
        ("the request must be polite", []),
        ("getOrderByNumberAndCustomer", []),
        ("deadbeefdeadbeef", []),
        ("<time> stands for 14:05", ["time"]),
    ],
)
def test_what_looks_volatile(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in spans(text)] == kinds
    assert (masked(text) == text) == (not kinds)


@pytest.mark.parametrize(
    ("systems", "kinds"),
    [
        (["Now: 2026-03-05 14:05", "Now: 2026-03-05 14:06"], ["time"]),
        (["Open 09:00-21:00", "Open 09:00-21:00"], []),
        (["Open 09:00-21:00. Now 14:05", "Open 09:00-21:00. Now 14:06"], ["time"]),
        (["Trace: req-8842-11", "Trace: req-8842-12"], ["request_id"]),
        (["Now: 2026-03-05 14:05"], []),
        (["one text", "another text"], []),
    ],
)
def test_a_span_is_a_fault_when_it_changes(systems: list[str], kinds: list[str]) -> None:
    found = lint(*(make_request(system, session=f"s{n}") for n, system in enumerate(systems)))
    assert [(one.kind, one.part, one.requests) for one in found] == [
        (kind, "system text", len(systems)) for kind in kinds
    ]


def test_what_differs_from_tenant_to_tenant_is_no_fault() -> None:
    one, two = "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "3f2504e0-4f89-41d3-9a0c-0305e82c3302"
    assert not lint(*(make_request(f"Account {own}", tenant=own) for own in (one, two, one, two)))


def test_what_users_say_may_change_and_what_was_said_may_not() -> None:
    said = [{"role": "user", "content": "it is 14:05"}, {"role": "assistant", "content": "yes"}]
    later = {"role": "user", "content": "and now 14:09"}
    first, second = make_request(messages=said[:1]), make_request(messages=[*said, later], turn=2)
    assert not lint(first, second)
    rewritten = make_request(messages=[{"role": "user", "content": "it is 14:06"}, said[1], later], turn=2)
    (found,) = lint(first, rewritten)
    assert (found.kind, found.part, found.requests) == ("rewritten_turn", "earlier turns", 1)


def test_tools_out_of_order_and_keys_that_move_are_faults() -> None:
    a, b = make_tool("a"), make_tool("b")
    respelt = json.loads(json.dumps(a), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert not lint(make_request(tools=[a, b]), make_request(tools=[a, b]))
    assert [(one.kind, one.requests) for one in lint(make_request(tools=[b, a]), make_request(tools=[a, b]))] == [
        ("unsorted_tools", 1)
    ]
    assert [(one.kind, one.requests) for one in lint(make_request(tools=[a]), make_request(tools=[respelt]))] == [
        ("unstable_keys", 1)
    ]
    stamped = [make_tool("a") | {"function": {"name": "a", "description": f"as of 14:0{n}"}} for n in range(2)]
    assert [(one.kind, one.part) for one in lint(*(make_request(tools=[tool]) for tool in stamped))] == [
        ("time", "tools")
    ]


JSON = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
LINES = st.lists(
    st.sampled_from(["Be brief.", "Now: 2026-03-05 14:05", "trace-id: abc12345", "", "营业 09:00"]), max_size=4
)


@given(LINES, st.lists(st.sampled_from("abc"), unique=True), JSON)
def test_the_canonical_form_is_stable_and_loses_nothing(lines: list[str], names: list[str], schema: object) -> None:
    messages = [{"role": "system", "content": "\n".join(lines)}, {"role": "user", "content": "question"}]
    tools = [make_tool(name, {"x": schema}) for name in names]
    before = json.dumps([messages, tools])
    once = canonical(messages, tools)
    assert canonical(*once) == once and json.dumps([messages, tools]) == before
    system, user = (str(message["content"]) for message in once[0])
    assert sorted(filter(None, chain(system.split("\n"), user.split("\n")))) == sorted(
        filter(None, [*lines, "question"])
    )
    assert "14:05" not in system and user.startswith("question")
    assert once[1] is not None and [tool["function"]["name"] for tool in once[1]] == sorted(names)
    assert keys_sorted(tools) == keys_sorted(json.loads(json.dumps(tools, sort_keys=True)))


def test_without_a_user_turn_nothing_moves() -> None:
    messages = [{"role": "system", "content": "Now: 2026-03-05 14:05"}]
    assert canonical(messages, None) == (messages, None)


def test_a_gateway_can_copy_the_canonical_form() -> None:
    source = str(canonical_module.__file__)
    program = f"import runpy; print(runpy.run_path({source!r})['canonical']([], None))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "([], None)"


def test_this_pipelines_own_prompts_hold_nothing_volatile() -> None:
    """Their tools stand in one order, though not by name: a cache does not mind."""
    faults = PromptLint()
    for item in SUITES:
        toolset = getattr(item, "toolset", None)
        tools = [tool.model_dump() for tool in TOOLSETS[toolset].tools] if toolset else None
        faults.add(make_request(messages=[message.model_dump() for message in item.messages], session=item.id), tools)
    assert {finding.kind for finding in faults.findings()} == {"unsorted_tools"}


@pytest.mark.parametrize(
    ("traffic", "kind", "part"),
    [
        ({"stamp": "system"}, "time", "system text"),
        ({"shuffle": frozenset({"tools"})}, "unsorted_tools", "tools"),
        ({"shuffle": frozenset({"keys"})}, "unstable_keys", "tools"),
    ],
)
def test_a_faults_cost_is_what_its_repair_saves(
    tokens: PromptTokens, traffic: dict[str, Any], kind: str, part: str
) -> None:
    requests = generated(250, rate=0.5, **traffic)
    findings = lint(*requests)
    assert [(one.kind, one.part) for one in findings] == [(kind, part)]
    clean, (cost,) = Replay(tokens, FLEET, "tenant-scene").costs(requests, findings)
    assert cost.recomputed_tok_s is not None and cost.recomputed_tok_s > 0
    assert cost.hit_rate is not None and cost.hit_rate < clean.token_hit_rate


def test_a_rewritten_turn_has_no_price(tokens: PromptTokens) -> None:
    finding = Finding("rewritten_turn", "earlier turns", 1, "")
    _, (cost,) = Replay(tokens, FLEET, "random").costs(generated(20), [finding])
    assert (cost.recomputed_tok_s, cost.hit_rate) == (None, None)
