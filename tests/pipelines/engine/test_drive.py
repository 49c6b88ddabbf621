"""Driving: what is retried, what is not, and that no failure of the engine becomes an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsets.items import FunctionCall
from evalsets.records import InputError, digest
from evalsets.responses import EngineParse, Response
from pipelines.engine.drive import Drive, ask_all
from pipelines.engine.patience import ATTEMPTS
from pipelines.engine.plan import Request
from pipelines.engine.watchdog import EngineGone
from quantize.chat_template import ChatTemplate
from tests.pipelines.engine.fake_engine import FakeEngine, Script, Step

MAX_TOKENS = 40
FINE = "fine<|im_end|>"


class Asker:
    """Asks a scripted engine; keeps its answers and the engine."""

    def __init__(self, checkpoint: Path) -> None:
        self.template = ChatTemplate(checkpoint)
        self.checkpoint = checkpoint
        self.got: list[Response] = []

    def request(self, item: str) -> Request:
        messages = [{"role": "user", "content": item}]
        body = {"model": "tiny", "messages": messages, "max_tokens": MAX_TOKENS}
        return Request("qa", item, 0, body, self.template.ids(messages, None), MAX_TOKENS)

    def ask(
        self,
        script: Script,
        items: Sequence[str] = ("a",),
        concurrency: int = 1,
        alive: Callable[[], bool] = lambda: True,
        keys: list[str] | None = None,
        api_key: str | None = None,
        timeout_s: float = 20,
    ) -> FakeEngine:
        engine = FakeEngine(script, self.checkpoint, keys)
        with engine.serving() as url:
            drive = Drive(url, concurrency, timeout_s, alive, self.template.decode, first_wait_s=0.01, api_key=api_key)
            ask_all(drive, [self.request(item) for item in items], self.got.append)
        return engine


@pytest.fixture
def asker(checkpoint: Path) -> Asker:
    return Asker(checkpoint)


PASSING = {
    "500": Step(status=500),
    "503": Step(status=503),
    "closed in the middle": Step(fault="cut"),
    "time-out": Step(wait_s=2),
}


@pytest.mark.parametrize("name", PASSING)
def test_faults_of_transport_and_server_are_retried_and_recorded(asker: Asker, name: str) -> None:
    engine = asker.ask(
        Script(steps={"a": [PASSING[name], PASSING[name], Step()]}), timeout_s=0.5 if name == "time-out" else 20
    )
    (response,) = asker.got
    assert (response.status, response.raw) == ("ok", FINE)
    assert engine.asked["a"] == 3
    assert [retry.waited_s for retry in response.retries] == [0.01, 0.02]
    kind = {"500": "HTTP 500", "503": "HTTP 503", "time-out": "Timeout"}.get(name, "ClientPayloadError")
    assert all(kind in retry.error for retry in response.retries)


@pytest.mark.parametrize("name", ["500", "closed in the middle"])
def test_a_fault_that_stays_is_infrastructure_not_an_answer(asker: Asker, name: str) -> None:
    engine = asker.ask(Script(steps={"a": [PASSING[name]]}))
    (response,) = asker.got
    assert engine.asked["a"] == ATTEMPTS
    assert len(response.retries) == ATTEMPTS - 1
    assert response.status == "infra"
    assert response.error is not None
    assert f"no answer after {ATTEMPTS} attempts" in response.error
    assert (response.raw, response.parsed, response.token_ids) == ("", None, [])


@pytest.mark.parametrize("status", [302, 400, 401, 404, 413, 422])
def test_a_refusal_is_not_retried(asker: Asker, status: int) -> None:
    engine = asker.ask(Script(steps={"a": [Step(status=status, body="too long"), Step()]}))
    (response,) = asker.got
    assert engine.asked["a"] == 1
    assert (response.status, response.retries) == ("infra", [])
    assert response.error == f"refused with HTTP {status}: too long"


def completion(**changes: Any) -> str:
    choice = {"message": {"content": "x"}, "token_ids": [69], "finish_reason": "stop"} | changes
    return json.dumps({"prompt_token_ids": PROMPT, "choices": [choice]})


PROMPT = "PROMPT"
NOT_A_COMPLETION = {
    "not JSON": "<html>502 Bad Gateway</html>",
    "torn": '{"prompt_token_ids": [1, 2',
    "empty": "",
    "null": "null",
    "a list": "[]",
    "a string": '"fine"',
    "without ids": '{"choices": []}',
    "without choices": json.dumps({"prompt_token_ids": PROMPT}),
    "no choice": json.dumps({"prompt_token_ids": PROMPT, "choices": []}),
    "choice is text": json.dumps({"prompt_token_ids": PROMPT, "choices": ["x"]}),
    "no token ids": completion(token_ids=None),
    "token ids are words": completion(token_ids=["x"]),
    "a negative token": completion(token_ids=[-1]),
    "an endless token": completion(token_ids=[float("inf")]),
    "message is null": completion(message=None),
    "message is text": completion(message="x"),
    "logprobs are a list": completion(logprobs=[1]),
    "logprob is NaN": completion(logprobs={"content": [{"logprob": float("nan")}]}),
    "logprob is missing": completion(logprobs={"content": [{}]}),
    "call without function": completion(message={"content": None, "tool_calls": [{}]}),
    "call with other keys": completion(message={"tool_calls": [{"function": {"name": "f", "arguments": "", "x": 1}}]}),
    "call without a name": completion(message={"tool_calls": [{"function": {"name": "", "arguments": "{}"}}]}),
    "arguments are no text": completion(message={"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}),
}


@pytest.mark.parametrize("name", NOT_A_COMPLETION)
def test_what_is_no_completion_is_infrastructure_and_not_retried(asker: Asker, name: str) -> None:
    prompt = json.dumps(asker.request("a").prompt_ids)
    body = NOT_A_COMPLETION[name].replace(json.dumps(PROMPT), prompt)
    engine = asker.ask(Script(steps={"a": [Step(body=body), Step()]}), items=["a", "b"])
    first, second = asker.got
    assert (first.status, first.retries) == ("infra", [])
    assert first.error is not None
    assert first.error.startswith("not a chat completion")
    assert second.status == "ok"
    assert engine.asked["a"] == 1


def test_content_is_never_a_reason_to_ask_again(asker: Asker) -> None:
    texts = ["", "<|im_end|>", "<tool_call>{oops", "\\u0000", "我不知道"]
    steps = {f"item {number}": [Step(text=text), Step()] for number, text in enumerate(texts)}
    engine = asker.ask(Script(steps=steps), items=list(steps))
    assert [response.raw for response in asker.got] == texts
    assert {response.status for response in asker.got} == {"ok"}
    assert set(engine.asked.values()) == {1}


def test_another_prompt_than_planned_stops_the_run(asker: Asker) -> None:
    with pytest.raises(InputError, match=r"b: the engine rendered \d+ prompt tokens, \d+ were planned.*chat template"):
        asker.ask(Script(steps={"b": [Step(fault="wrong_prompt")]}), items=["a", "b", "c"])
    assert [response.item_id for response in asker.got] == ["a"]


def test_an_answer_is_kept_as_it_came(asker: Asker) -> None:
    call = FunctionCall(name="refund", arguments='{"amount": 12900.00}')
    asker.ask(Script(steps={"a": [Step(text=f"<tool_call>赔{FINE}", tool_calls=[call], finish_reason="tool_calls")]}))
    (response,) = asker.got
    assert response.raw == f"<tool_call>赔{FINE}"
    assert asker.template.decode(response.token_ids) == response.raw
    assert response.parsed == EngineParse(content=None, tool_calls=[call])
    assert response.finish_reason == "tool_calls"
    assert response.logprobs == [-0.5] * len(response.token_ids)
    assert (response.prompt_tokens, response.prompt_sha256) == (
        len(asker.request("a").prompt_ids),
        digest(asker.request("a").prompt_ids),
    )


@pytest.mark.parametrize(("length", "capped"), [(MAX_TOKENS - 1, False), (MAX_TOKENS, True), (MAX_TOKENS + 9, True)])
def test_an_answer_that_used_all_its_tokens_is_capped_whatever_the_engine_says(
    asker: Asker, length: int, capped: bool
) -> None:
    asker.ask(Script(steps={"a": [Step(text="x" * length, finish_reason="stop")]}))
    assert asker.got[0].capped is capped


def test_each_item_once_and_never_more_at_a_time_than_allowed(asker: Asker) -> None:
    items = [f"item {number}" for number in range(15)]
    steps = {"item 3": [Step(status=500, wait_s=0.02), Step(wait_s=0.02)]}
    engine = asker.ask(Script(steps=steps, otherwise=Step(wait_s=0.02)), items=items, concurrency=4)
    assert sorted(response.item_id for response in asker.got) == sorted(items)
    assert engine.most == 4
    assert engine.asked == {item: 2 if item == "item 3" else 1 for item in items}


def test_one_at_a_time_keeps_the_order(asker: Asker) -> None:
    items = ["c", "a", "b"]
    asker.ask(Script(), items=items)
    assert [response.item_id for response in asker.got] == items


def test_nothing_to_ask(asker: Asker) -> None:
    assert asker.ask(Script(), items=[]).bodies == []


def test_a_process_that_ended_is_no_wrong_answer(asker: Asker) -> None:
    with pytest.raises(EngineGone):
        asker.ask(Script(), items=["a", "b", "c"], alive=lambda: len(asker.got) < 2)
    assert [response.item_id for response in asker.got] == ["a", "b"]


def test_an_unhealthy_engine_is_gone_though_its_process_lives(asker: Asker) -> None:
    with pytest.raises(EngineGone):
        asker.ask(Script(steps={"b": [Step(fault="unhealthy")]}), items=["a", "b", "c"])
    assert [response.item_id for response in asker.got] == ["a"]


def test_an_engine_that_refuses_connections_is_gone_at_once(asker: Asker) -> None:
    with FakeEngine(Script(), asker.checkpoint).serving() as url:
        pass
    drive = Drive(url, 2, 5, lambda: True, asker.template.decode)
    with pytest.raises(EngineGone):
        ask_all(drive, [asker.request(item) for item in "abcdef"], asker.got.append)
    assert asker.got == []


@pytest.mark.parametrize(("sent", "status"), [("right", "ok"), ("wrong", "infra"), (None, "infra")])
def test_the_api_key_is_sent(asker: Asker, sent: str | None, status: str) -> None:
    asker.ask(Script(), keys=["other", "right"], api_key=sent)
    assert asker.got[0].status == status


def test_proxies_of_the_environment_are_not_for_the_engine(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    asker.ask(Script())
    assert asker.got[0].status == "ok"
