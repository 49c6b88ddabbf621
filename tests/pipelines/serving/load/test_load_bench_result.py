"""A detailed result as samples: the trace's order, failures without times, and results of another trace refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import InputError
from pipelines.serving.load.bench_result import samples_of
from tests.pipelines.serving.load.repeat_material import result_of, trace_rows

ROWS = trace_rows([100, 200, 300], scene="问答")


def test_times_scenes_and_lengths_in_the_traces_order() -> None:
    found, duration_s = samples_of(result_of(ROWS, duration=12.5), ROWS)
    assert duration_s == 12.5
    assert [(one.scene, one.prompt_tokens, one.output_tokens) for one in found] == [
        ("问答", length, 3) for length in (100, 200, 300)
    ]
    assert [one.start_s for one in found] == [0, 1, 2]
    assert [one.ttft_s for one in found] == pytest.approx([0.2, 0.21, 0.22])
    assert found[0].itl_s == [0.05, 0.05] and found[0].error == ""


def test_starts_count_from_the_earliest() -> None:
    result = {**result_of(ROWS), "start_times": [7.5, 7.0, 9.0]}
    assert [one.start_s for one in samples_of(result, ROWS)[0]] == [0.5, 0, 2]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({}, "TimeoutError: late"),
        ({"errors": ["", "Bad Gateway", ""]}, "Bad Gateway"),
        ({"errors": ["", "", ""]}, "no answer, and no reason given"),
        ({"output_lens": [3, 2, 3], "ttfts": [0.1, 0.1, 0.1], "itls": [[0.1], [0.1], [0.1]]}, "TimeoutError: late"),
        ({"input_lens": [100, 7, 300]}, "TimeoutError: late"),
    ],
)
def test_a_failed_request_has_its_error_and_no_times(change: dict[str, Any], error: str) -> None:
    found = samples_of({**result_of(ROWS, failed=[1]), **change}, ROWS)[0][1]
    assert (found.error, found.ttft_s, found.itl_s, found.output_tokens, found.prompt_tokens) == (
        error,
        None,
        [],
        0,
        200,
    )


@given(st.lists(st.tuples(st.integers(1, 5000), st.booleans()), min_size=1, max_size=12))
def test_what_failed_is_what_has_no_time(requests: list[tuple[int, bool]]) -> None:
    rows = trace_rows([length for length, _ in requests])
    found, _ = samples_of(result_of(rows, failed=[index for index, (_, fails) in enumerate(requests) if fails]), rows)
    assert [one.ttft_s is None for one in found] == [fails for _, fails in requests]
    assert all(bool(one.error) is (one.ttft_s is None) for one in found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ttfts": [0.1, 0.2]}, "^run=0.json: 2 ttfts for 3 requests"),
        ({"itls": [], "errors": [""] * 4}, "0 itls, 4 errors for 3 requests"),
        ({"completed": 2}, "2 requests completed, 3 have an answer"),
        ({"input_lens": [100, 300, 200]}, "request 1 has 300 prompt tokens, 200 in the trace"),
        ({"duration": float("nan")}, "duration: .*--save-detailed"),
        ({"itls": None}, "itls: .*--save-detailed"),
    ],
)
def test_another_traces_result_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        samples_of({**result_of(ROWS), **change}, ROWS, "run=0.json")


def test_a_result_that_is_not_detailed_says_how_to_write_one() -> None:
    with pytest.raises(InputError, match=r"input_lens: .*--save-result --save-detailed"):
        samples_of({"duration": 1.0, "completed": 3}, ROWS)
