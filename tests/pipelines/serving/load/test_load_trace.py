"""Traffic of a load test: what is kept of a log, in which order, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.items import Suite
from evalsets.records import InputError
from pipelines.params import SuiteSettings
from pipelines.serving.load.settings import LoadSettings
from pipelines.serving.load.trace import log_rows, make_trace
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.request_log import LoggedRequest
from tests.pipelines.serving.load.load_material import ROOT, load_settings
from tests.pipelines.serving.serving_material import generated, make_request


def test_a_trace_is_the_first_requests_that_fit(tokens: PromptTokens) -> None:
    rows = [make_request(user="a"), make_request(user="很长" * 400), make_request(user="b", scene="tools")]
    trace = make_trace(rows, tokens, 2, max_model_len=200)
    assert [row.scene for row in trace.requests] == ["qa", "tools"]
    assert (trace.too_long, trace.generated) == (1, False)
    assert all("a" in row.prompt or "b" in row.prompt for row in trace.requests)


def test_own_tokens_leave_out_what_stands_before_the_first_user(tokens: PromptTokens) -> None:
    short, long = (make_trace([make_request(system)], tokens, 1, 4000).requests[0] for system in ("x", "x y z " * 50))
    assert long.prompt_tokens > short.prompt_tokens + 50
    assert long.own_tokens == short.own_tokens
    assert short.own_tokens < short.prompt_tokens + short.output_tokens


def test_an_answer_of_no_token_takes_one(tokens: PromptTokens) -> None:
    assert make_trace([make_request(output_tokens=0)], tokens, 1, 4000).requests[0].output_tokens == 1


def test_repeats_share_no_request_and_the_digest_follows_the_traffic(tokens: PromptTokens) -> None:
    trace = make_trace(generated(6), tokens, 6, 10_000)
    parts = [trace.repeat(number, 2) for number in range(3)]
    assert [row for part in parts for row in part] == list(trace.requests)
    assert trace.generated
    assert trace.sha256 == make_trace(generated(6), tokens, 6, 10_000).sha256
    assert trace.sha256 != make_trace(generated(6, seed=2), tokens, 6, 10_000).sha256


@pytest.mark.parametrize(
    ("rows", "count", "says"),
    [
        ([make_request()], 2, "2 requests are wanted, the log has 1 that fit 200 tokens and 0 that do not"),
        ([make_request(user="很长" * 400)] * 9, 2, "has 0 that fit 200 tokens and 3 that do not"),
        ([make_request(user="很长" * 400)] * 2 + [make_request()] * 2, 2, "this is not the traffic any more"),
    ],
)
def test_too_short_a_log_or_too_long_texts_are_refused(
    tokens: PromptTokens, rows: list[LoggedRequest], count: int, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        make_trace(rows, tokens, count, max_model_len=200)


@pytest.mark.parametrize("own", [False, True])
def test_rows_come_from_the_own_log_or_are_generated(tokens: PromptTokens, tmp_path: Path, own: bool) -> None:
    settings: LoadSettings = load_settings()
    if own:
        log = tmp_path / "log.jsonl"
        log.write_text(make_request(user="mine").model_dump_json(exclude_none=True) + "\n")
        settings = settings.model_copy(update={"log": str(log)})
    data = ROOT / "evalsets/data"
    suites: dict[Suite, SuiteSettings] = {
        "qa": SuiteSettings(path=str(data / "qa.jsonl")),
        "tools": SuiteSettings(path=str(data / "tool_calls.jsonl")),
    }
    rows = list(log_rows(settings, suites, data / "toolsets.json", tokens))
    assert len(rows) == (1 if own else settings.requests * settings.repeats * 4)
    assert all(row.generated is not own for row in rows)
