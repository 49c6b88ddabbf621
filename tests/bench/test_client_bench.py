"""The client benchmark's parts: server and clients agree on what was asked, and a table says what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalsets.records import InputError
from tests.bench.client_bench import (
    OURS,
    Cost,
    commands,
    completions,
    instant_engine,
    item_seconds,
    ratios,
    run_client,
    table,
)
from tests.bench.instant_engine import ANSWER_IDS, PROMPT_IDS, completion

COUNT, AT_ONCE = 30, 4


@pytest.mark.parametrize(("mode", "warm"), [("memory", 2 * AT_ONCE), ("journal", 2 * AT_ONCE), ("bare", 0)])
def test_the_server_counts_what_a_client_says_it_asked(mode: str, warm: int) -> None:
    with instant_engine() as url:
        (command,) = [c for c in commands(url, COUNT, AT_ONCE).values() if c[-1] == mode or f"{mode}_client" in c[2]]
        cost = run_client(command, COUNT)
        assert completions(url) == COUNT + warm
    assert cost.requests == COUNT
    assert cost.cpu_seconds > 0
    assert cost.seconds > 0


def test_a_client_that_fails_or_falls_short_is_no_measurement() -> None:
    with pytest.raises(InputError, match="exit 3: broken"):
        run_client(["sh", "-c", "echo broken >&2; exit 3"], COUNT)
    short = json.dumps({"requests": COUNT - 1, "seconds": 1.0, "cpu_seconds": 1.0})
    with pytest.raises(InputError, match=f"{COUNT - 1} of {COUNT}"):
        run_client(["echo", short], COUNT)


def test_the_reply_with_token_ids_holds_what_only_the_engine_tells() -> None:
    plain, whole = (json.loads(completion(token_ids)) for token_ids in (False, True))
    assert "prompt_token_ids" not in plain
    assert "token_ids" not in plain["choices"][0]
    assert whole["prompt_token_ids"] == PROMPT_IDS
    assert whole["choices"][0]["token_ids"] == ANSWER_IDS
    assert len(whole["choices"][0]["logprobs"]["content"]) == len(ANSWER_IDS)
    assert whole["choices"][0]["message"] == plain["choices"][0]["message"]


def test_ratios_are_medians_of_the_rounds() -> None:
    ours = [Cost(100, seconds, cpu) for seconds, cpu in [(1.0, 0.5), (2.0, 0.5), (1.0, 1.0)]]
    other = [Cost(100, seconds, cpu) for seconds, cpu in [(3.0, 1.0), (4.0, 2.0), (9.0, 3.0)]]
    assert ratios(ours, other) == (3.0, 3.0)
    printed = table({OURS: ours, "other": other})
    assert "| this project | 100 | 5.000 | 1.00 | 1.00 |" in printed
    assert "| other | 25 | 20.000 | 3.00 | 3.00 |" in printed


def test_seconds_per_item_leave_the_start_out(tmp_path: Path) -> None:
    record = {"shared": {"suites": {"qa": {"items": 10, "runs": 2}, "tools": {"items": 5}}}}
    written = record | {"wall_s": {"start": 99.0, "qa": 40.0, "tools": 10.0}}
    (tmp_path / "bf16.json").write_text(json.dumps(written))
    assert item_seconds(tmp_path) == {"bf16": 2.0}
