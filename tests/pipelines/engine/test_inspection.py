"""The look at an engine before a run: what is asked of it, what passes, and what stops the run by name."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from evalsets.items import Suite
from evalsets.records import InputError
from evalsets.responses import Response
from pipelines.engine.drive import Drive
from pipelines.engine.inspection import Inspection, asking, chosen, first_tokens, inspect
from pipelines.engine.plan import Plan, Request
from pipelines.engine_modes import Inspect
from quantize.chat_template import ChatTemplate
from tests.pipelines.engine.fake_engine import FakeEngine, Script, Step

FINE = "很好。fine<|im_end|>"
STUCK = "!" * 60
TOOL = {
    "type": "function",
    "function": {"name": "refund", "description": "退款", "parameters": {"type": "object", "properties": {}}},
}


@dataclass
class Inspected:
    """A planned run of `qa` and `tools` items on a scripted engine; each item's text is its id."""

    checkpoint: Path
    qa: int = 15
    tools: int = 4
    settings: Inspect = field(default_factory=Inspect)
    template: ChatTemplate = field(init=False)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.template = ChatTemplate(self.checkpoint)

    def plan(self) -> Plan:
        sizes: dict[Suite, int] = {"qa": self.qa, "tools": self.tools}
        wanted = {suite: [f"{suite}-{number}" for number in range(size)] for suite, size in sizes.items()}
        requests = {
            suite: [self._request(suite, name, run) for run in (1, 0) for name in names[::-1]]
            for suite, names in wanted.items()
        }
        ids = {suite: [*names, *(f"{name}#2" for name in names)] for suite, names in wanted.items()}
        return Plan(requests, ids, {}, "", "", "", "", 1)

    def _request(self, suite: Suite, name: str, run: int) -> Request:
        messages = [{"role": "user", "content": name}]
        tools = [TOOL] if suite == "tools" else None
        body: dict[str, Any] = {"model": "tiny", "messages": messages, "max_tokens": 200}
        body |= {"tools": tools} if tools else {}
        return Request(suite, name, run, body, self.template.ids(messages, tools), 200)

    def run(self, texts: Mapping[str, str], baseline: Mapping[str, int] | None = None) -> Inspection:
        """Answers by item, `FINE` where none is given."""
        steps = {name: [Step(text=text, finish_reason=_reason(text))] for name, text in texts.items()}
        return self.ask(Script(steps=steps, otherwise=Step(text=FINE)), baseline)

    def ask(self, script: Script, baseline: Mapping[str, int] | None = None) -> Inspection:
        engine = FakeEngine(script, self.checkpoint)
        with engine.serving() as url:
            drive = Drive(url, 4, 20, lambda: True, self.template.decode, first_wait_s=0.01)
            try:
                return inspect(self.plan(), self.settings, asking(drive), self.template.decode, baseline)
            finally:
                self.bodies = engine.bodies

    def answers(self, **changes: Any) -> Callable[[Sequence[Request]], list[Response]]:
        """An engine in this process: the same words to every prompt, with changes of the response."""

        def ask(requests: Sequence[Request]) -> list[Response]:
            ids = [10, 11, 12]
            made = {"status": "ok", "token_ids": ids, "finish_reason": "stop", "logprobs": [-0.5] * len(ids)} | changes
            return [
                Response.model_construct(item_id=one.item_id, suite=one.suite, run=one.run, **made) for one in requests
            ]

        return ask


def _reason(text: str) -> str:
    return "stop" if text.endswith("<|im_end|>") else "length"


@pytest.fixture
def inspected(checkpoint: Path) -> Inspected:
    return Inspected(checkpoint)


def test_a_sound_engine_passes(inspected: Inspected) -> None:
    baseline = {"qa-0": inspected.template.token_id("f") or 0, "elsewhere": 1}
    found = inspected.run({"qa-0": "fine<|im_end|>", "qa-3": STUCK}, baseline)
    assert (found.prompts, found.degenerate, found.non_finite, found.agreement) == (19, 1, 0, 1.0)
    assert found.template == "json"
    assert len(found.first_tokens) == 19
    assert Inspection.model_validate_json(found.model_dump_json()) == found


def test_without_a_baseline_or_tools_there_is_nothing_to_say_of_them(inspected: Inspected) -> None:
    inspected.tools = 0
    found = inspected.run({})
    assert (found.prompts, found.agreement, found.template) == (15, None, None)


def test_the_first_prompts_of_every_suite_are_asked_once_and_briefly(inspected: Inspected) -> None:
    inspected.settings = Inspect(prompts=6, max_tokens=8)
    inspected.run({})
    asked = sorted(body["messages"][0]["content"] for body in inspected.bodies)
    assert asked == ["qa-0", "qa-1", "qa-2", "tools-0", "tools-1", "tools-2"]
    assert {(body["max_tokens"], body["logprobs"]) for body in inspected.bodies} == {(8, True)}


@pytest.mark.parametrize(
    ("prompts", "qa", "tools"), [(1, 1, 0), (5, 3, 2), (8, 4, 4), (12, 8, 4), (20, 15, 4), (99, 15, 4)]
)
def test_prompts_are_spread_over_the_suites(inspected: Inspected, prompts: int, qa: int, tools: int) -> None:
    found = chosen(inspected.plan(), Inspect(prompts=prompts))
    assert [sum(one.suite == suite for one in found) for suite in ("qa", "tools")] == [qa, tools]
    assert {one.run for one in found} == {0}


def test_a_shorter_limit_of_the_suite_stays(inspected: Inspected) -> None:
    plan = inspected.plan()
    short = {suite: [replace(one, max_tokens=4) for one in rows] for suite, rows in plan.requests.items()}
    assert {one.body["max_tokens"] for one in chosen(replace(plan, requests=short), Inspect())} == {4}


def refused(inspected: Inspected, texts: Mapping[str, str], baseline: Mapping[str, int] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        inspected.run(texts, baseline)
    return str(caught.value)


def test_repetitions_stop_the_run_beyond_the_limit(inspected: Inspected) -> None:
    stuck = {f"qa-{number}": STUCK for number in range(5)}
    message = refused(inspected, stuck)
    assert "inspection: degenerate repetition (engine.inspect.max_degenerate 0.25): 5 of 19 prompts" in message
    assert "qa-0: '!' 16 times; qa-1: '!' 16 times; qa-2: '!' 16 times); serve in bfloat16" in message
    inspected.settings = Inspect(max_degenerate=1)
    assert inspected.run(stuck).degenerate == 5


def test_other_first_tokens_than_the_baseline_s_stop_the_run(inspected: Inspected) -> None:
    baseline = first_tokens(inspected.answers(token_ids=[3])(chosen(inspected.plan(), Inspect())))
    message = refused(inspected, {}, baseline)
    assert "first tokens (engine.inspect.min_first_token_agreement 0.5, seen 0.00): 19 of 19 prompts (qa-0: " in message
    assert "check that the right checkpoint is served" in message
    inspected.settings = Inspect(min_first_token_agreement=0)
    assert inspected.run({}, baseline).agreement == 0.0


def test_a_template_that_damages_tools_stops_the_run_before_anything_is_asked(
    inspected: Inspected, tmp_path: Path
) -> None:
    source = (inspected.checkpoint / "chat_template.jinja").read_text("utf-8")
    (tmp_path / "tokenizer.json").write_bytes((inspected.checkpoint / "tokenizer.json").read_bytes())
    (tmp_path / "chat_template.jinja").write_text(
        source.replace("{{ tool | tojson }}", "{{- '{' }}{{ tool | tojson }}{{- '}' }}")
    )
    message = refused(Inspected(tmp_path), {})
    assert "inspection: chat template: 4 of 4 prompts (tools-0: the tool refund stands in doubled braces; " in message
    assert "put the model's original chat template into the checkpoint" in message
    damaged = Inspected(tmp_path)
    with pytest.raises(InputError, match="chat template"):
        damaged.run({})
    assert damaged.bodies == []


def test_an_engine_that_does_not_answer_stops_the_run(inspected: Inspected) -> None:
    with pytest.raises(InputError, match=r"inspection: no answer: 1 of 19 prompts \(qa-7: refused with HTTP 400.*log"):
        inspected.ask(Script(steps={"qa-7": [Step(status=400, body="too long")]}, otherwise=Step(text=FINE)))


def test_another_prompt_than_planned_stops_the_run(inspected: Inspected) -> None:
    with pytest.raises(InputError, match="the engine rendered"):
        inspected.ask(Script(otherwise=Step(fault="wrong_prompt")))


@pytest.mark.parametrize("logprobs", [None, [], [-0.5, math.nan, -0.5], [-0.5, -9999.0, -0.5], [-0.5]])
def test_log_probabilities_that_are_no_numbers_stop_the_run(inspected: Inspected, logprobs: list[float] | None) -> None:
    ask = inspected.answers(logprobs=logprobs)
    with pytest.raises(
        InputError, match=r"non-finite or missing log-probabilities: 19 of 19 .*qa-0: \d tokens.*bfloat16"
    ):
        inspect(inspected.plan(), Inspect(), ask, inspected.template.decode)


def test_answers_may_be_awaited(inspected: Inspected) -> None:
    now = inspected.answers()

    async def later(requests: Sequence[Request]) -> Sequence[Response]:
        await asyncio.sleep(0)
        return now(requests)[::-1]

    at_once = inspect(inspected.plan(), Inspect(), now, inspected.template.decode)
    assert inspect(inspected.plan(), Inspect(), later, inspected.template.decode) == at_once
    assert list(at_once.first_tokens)[:3] == ["qa-0", "tools-0", "qa-1"]


def test_a_lost_response_is_no_answer(inspected: Inspected) -> None:
    ask = inspected.answers()

    def lossy(requests: Sequence[Request]) -> list[Response]:
        return ask(requests)[1:]

    with pytest.raises(InputError, match=r"no answer: 1 of 19 prompts \(qa-0: no response\)"):
        inspect(inspected.plan(), Inspect(), lossy, inspected.template.decode)


@pytest.mark.parametrize(
    "values",
    [
        {"prompts": 0},
        {"max_degenerate": 1.1},
        {"min_first_token_agreement": math.nan},
        {"max_tokens": 7},
        {"prompt": 1},
    ],
)
def test_settings_that_mean_nothing_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Inspect"):
        Inspect.model_validate(values)
