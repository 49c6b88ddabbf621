"""Driving the load generator: what it is given, and what happens where it fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsets.records import InputError
from pipelines.serving.load import bench
from pipelines.serving.load.bench import Bench, Target, running_bench
from pipelines.serving.load.results import Offered
from pipelines.serving.load.trace import TraceRequest
from tests.pipelines.serving.load.load_material import ROOT

TARGET = Target("http://127.0.0.1:1", "model@abc", Path("checkpoint"))
REQUESTS = [TraceRequest("qa", "问题\n1", 3, 5, 6), TraceRequest("tools", "two", 1, 7, 8)]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(bench, "MODULE", "tests.pipelines.serving.load.fake_bench")
    with running_bench(sys.executable, os.environ | {"PYTHONPATH": str(ROOT)}, tmp_path) as found:
        yield found


def test_the_generator_gets_the_traffic_in_order_and_its_rate(started: Bench) -> None:
    result = started.measure(TARGET, REQUESTS, Offered(rate=0.5), seed=3)
    assert result["prompts"] == [{"prompt": "问题\n1", "output_tokens": 5}, {"prompt": "two", "output_tokens": 7}]
    given = result["arguments"]
    for name, value in {"--request-rate": "0.5", "--seed": "3", "--num-prompts": "2", "--model": "model@abc"}.items():
        assert given[given.index(name) + 1] == value
    assert {"--disable-shuffle", "--ignore-eos", "--save-detailed", "--skip-chat-template"} <= set(given)
    assert "--max-concurrency" not in given


def test_a_closed_loop_has_no_rate_of_its_own(started: Bench) -> None:
    given = started.measure(TARGET, REQUESTS, Offered(concurrency=4), seed=0)["arguments"]
    assert given[given.index("--max-concurrency") + 1] == "4"
    assert given[given.index("--request-rate") + 1] == "inf"


def test_a_failure_is_said_and_the_generator_goes_on(started: Bench) -> None:
    with pytest.raises(InputError, match=r"failed ValueError: no such rate; its log is .*bench\.log"):
        started.measure(TARGET, REQUESTS, Offered(rate=9.0), seed=0)
    assert started.measure(TARGET, REQUESTS, Offered(rate=1.0), seed=0)["prompts"]


def test_a_generator_that_ends_is_said_and_not_waited_for(started: Bench) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match="the load generator ended"):
            started.measure(TARGET, REQUESTS, Offered(rate=8.0), seed=0)


def test_one_that_does_not_start_names_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "MODULE", "no.such.module")
    with (
        pytest.raises(InputError, match="did not start; its log is"),
        running_bench(sys.executable, dict(os.environ), tmp_path),
    ):
        pytest.fail("it must not start")
