"""Back-pressure and the limit of one's own: a full endpoint is waited for, within bounds, and never graded."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.engine.drive import Drive, ask_all
from pipelines.engine.pace import MAX_WAIT_S, asked_to_wait
from tests.pipelines.engine.fake_engine import FakeEngine, Script, Step
from tests.pipelines.engine.test_drive import FINE, Asker

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def asker(checkpoint: Path) -> Asker:
    return Asker(checkpoint)


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        ("3", 3.0),
        (" 0.5 ", 0.5),
        ("0", 0.0),
        ("-5", 0.0),
        ("86400", MAX_WAIT_S),
        ("inf", MAX_WAIT_S),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Sun, 01 Mar 2026 12:00:07 GMT", 7.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2026 12:00:07 -0000", 7.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, wait_s: float | None) -> None:
    assert asked_to_wait({"Retry-After": header}, NOW) == wait_s


def test_no_header_asks_for_nothing() -> None:
    assert asked_to_wait({}) is None


@pytest.mark.parametrize("status", [429, 503])
def test_a_full_endpoint_is_waited_for_as_long_as_it_asks(asker: Asker, status: int) -> None:
    full = Step(status=status, retry_after="0.3", body="too many requests")
    started = time.monotonic()
    engine = asker.ask(Script(steps={"a": [full, full, Step()]}))
    assert time.monotonic() - started >= 0.6
    [response] = asker.got
    assert (response.status, response.raw) == ("ok", FINE)
    assert engine.asked["a"] == 3
    assert [(retry.error, retry.waited_s) for retry in response.retries] == [
        (f"HTTP {status}: too many requests", 0.3),
        (f"HTTP {status}: too many requests", 0.3),
    ]


def test_while_one_request_is_put_off_no_other_is_sent(asker: Asker) -> None:
    steps = {"a": [Step(status=429, retry_after="0.5"), Step()]}
    started = time.monotonic()
    engine = asker.ask(Script(steps=steps), items=["a", "b"])
    assert time.monotonic() - started >= 0.5
    assert [body["messages"][0]["content"] for body in engine.bodies] == ["a", "a", "b"]
    assert {response.status for response in asker.got} == {"ok"}


def test_more_refusals_than_faults_are_borne_without_a_header(asker: Asker) -> None:
    full = Step(status=429)
    engine = asker.ask(Script(steps={"a": [full] * 6 + [Step()]}))
    assert (asker.got[0].status, engine.asked["a"]) == ("ok", 7)


@pytest.mark.parametrize("header", ["0.1", "0", None])
def test_being_put_off_for_ever_ends_as_infrastructure(asker: Asker, header: str | None) -> None:
    with FakeEngine(Script(steps={"a": [Step(status=429, retry_after=header)]}), asker.checkpoint).serving() as url:
        drive = Drive(url, 1, 20, lambda: True, asker.template.decode, first_wait_s=0.05, put_off_s=0.4)
        ask_all(drive, [asker.request("a")], asker.got.append)
    [response] = asker.got
    assert response.status == "infra"
    assert response.error is not None
    assert "attempts: HTTP 429: scripted 429" in response.error
    assert 2 <= len(response.retries) <= 8


def test_no_more_requests_a_second_than_allowed(asker: Asker) -> None:
    items = [f"item {number}" for number in range(6)]
    with FakeEngine(Script(), asker.checkpoint).serving() as url:
        drive = Drive(url, 6, 20, lambda: True, asker.template.decode, max_requests_per_s=10)
        started = time.monotonic()
        ask_all(drive, [asker.request(item) for item in items], asker.got.append)
        took_s = time.monotonic() - started
    assert 0.5 <= took_s < 3
    assert {response.status for response in asker.got} == {"ok"}
