"""An engine that stands still is noticed, whatever its health page says; one that computes is left alone."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path

import pytest

from evalsets.records import InputError
from pipelines.engine.drive import Drive, ask_all
from pipelines.engine.watchdog import EngineGone, Progress, counted_tokens, watch
from tests.pipelines.engine.bench import QA, Bench
from tests.pipelines.engine.fake_engine import FakeEngine, Script, Step
from tests.pipelines.engine.test_drive import Asker


@pytest.fixture
def asker(checkpoint: Path) -> Asker:
    return Asker(checkpoint)


def test_neither_answer_nor_token_is_a_hang(asker: Asker) -> None:
    engine = FakeEngine(Script(steps={"b": [Step(wait_s=60)]}), asker.checkpoint)
    with engine.serving() as url:
        drive = Drive(url, 2, 60, lambda: True, asker.template.decode, stall_timeout_s=0.4)
        started = time.monotonic()
        with pytest.raises(EngineGone, match=r"hung, with no answer and no token for 0\.4 s,"):
            ask_all(drive, [asker.request(item) for item in "abc"], asker.got.append)
        assert time.monotonic() - started < 5
    assert [response.item_id for response in asker.got] == ["a", "c"]


def test_tokens_that_are_counted_are_progress() -> None:
    counts = itertools.count()

    async def tokens() -> float | None:
        return float(min(next(counts), 8))

    started = time.monotonic()
    with pytest.raises(EngineGone):
        asyncio.run(watch(Progress(), 0.2, tokens))
    assert time.monotonic() - started >= 0.2 / 4 * 8


def test_where_no_counter_can_be_read_answers_alone_count() -> None:
    progress = Progress()

    async def unread() -> float | None:
        return None

    async def answered() -> None:
        watching = asyncio.create_task(watch(progress, 0.2, unread))
        for _ in range(8):
            await asyncio.sleep(0.05)
            progress.note()
        assert not watching.done()
        await watching

    with pytest.raises(EngineGone):
        asyncio.run(answered())


@pytest.mark.parametrize(
    ("page", "tokens"),
    [
        ('vllm:prompt_tokens_total{engine="0"} 3.0\nvllm:generation_tokens_total 4\nvllm:other_total 9\n', 7.0),
        ("vllm:num_requests_running 1\n", None),
        ("", None),
        ("<html>not found</html>", None),
    ],
)
def test_tokens_are_the_sum_of_all_counters(page: str, tokens: float | None) -> None:
    assert counted_tokens(page) == tokens


@pytest.mark.heavy
def test_a_run_on_a_hung_engine_stops_with_its_last_lines_and_is_resumed(bench: Bench) -> None:
    bench.engine = {"concurrency": 1, "request_timeout_s": 60, "stall_timeout_s": 1}
    bench.play(Script(steps={QA[2]: [Step(wait_s=60)]}, log=["stuck in a collective"]))
    says = r"(?s)the engine hung, with no answer and no token for 1 s, while answering \(\d of 6 qa .*stuck in a coll"
    with pytest.raises(InputError, match=says):
        bench.run()
    before = bench.asked()
    assert before[-1] == QA[2]
    bench.play(Script())
    rows, _ = bench.run()
    assert len(bench.asked()) - len(before) == 9 - len(before) + 1
    assert {row.status for suite in rows.values() for row in suite} == {"ok"}
