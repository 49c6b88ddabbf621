"""Planning a run: what is sent and in which order, and what cannot be sent."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from evalsets.records import InputError
from pipelines.engine.plan import Plan, plan_run
from pipelines.layout import Layout
from tests.pipelines.engine.bench import QA_IDS, SAMPLING, TOOL_IDS, TOOLSET, Bench


def planned(bench: Bench, run: str = "bf16") -> Plan:
    return plan_run(bench.params(), run, Layout.of("bench").checkpoint("bf16"), "tiny")


@pytest.mark.parametrize(("run", "seed"), [("bf16", 1), ("baseline-again", 2)])
def test_the_order_is_the_seeded_permutation(bench: Bench, run: str, seed: int) -> None:
    plan = planned(bench, run)
    assert plan.answer_ids == {"qa": QA_IDS, "tools": TOOL_IDS}
    asked = {suite: [request.item_id for request in requests] for suite, requests in plan.requests.items()}
    assert asked == {"qa": random.Random(seed).sample(QA_IDS, 6), "tools": random.Random(seed).sample(TOOL_IDS, 3)}


def test_further_passes_come_after_the_first_in_other_orders_and_with_other_seeds(bench: Bench) -> None:
    one = planned(bench)
    bench.runs = 3
    plan = planned(bench)
    assert plan.answer_ids["tools"] == [f"{item_id}{mark}" for mark in ("", "#2", "#3") for item_id in TOOL_IDS]
    passes = [plan.requests["qa"][first : first + 6] for first in (0, 6, 12)]
    assert passes[0] == one.requests["qa"]
    assert [{request.run for request in asked} for asked in passes] == [{0}, {1}, {2}]
    assert len({tuple(request.item_id for request in asked) for asked in passes}) == 3
    assert [{request.body["seed"] for request in asked} for asked in passes] == [{7}, {8}, {9}]
    assert plan.suites["qa"].runs == 3
    assert plan.prompts_sha256 == one.prompts_sha256


def test_two_seeds_ask_the_same_in_another_order(bench: Bench) -> None:
    one, other = planned(bench, "bf16"), planned(bench, "baseline-again")
    assert one.requests["qa"] != other.requests["qa"]
    assert sorted(map(repr, one.requests["qa"])) == sorted(map(repr, other.requests["qa"]))
    assert (one.prompts_sha256, one.sampling_sha256) == (other.prompts_sha256, other.sampling_sha256)


def test_every_sampling_field_is_sent(bench: Bench) -> None:
    plan = planned(bench)
    limits = {"qa": 32, "tools": 64}
    for suite, requests in plan.requests.items():
        for request in requests:
            for name in SAMPLING.keys() - {"max_tokens"}:
                assert request.body[name] == SAMPLING[name]
            assert request.body["max_tokens"] == request.max_tokens == limits[suite]
            assert request.body["return_token_ids"] is True
            assert request.body["skip_special_tokens"] is False
            assert request.body["logprobs"] is True
            assert request.body["n"] == 1


@pytest.mark.parametrize(("parser", "choice"), [("hermes", "auto"), (None, "none")])
def test_tools_are_offered_with_and_without_a_parser(bench: Bench, parser: str | None, choice: str) -> None:
    bench.engine = {"tool_parser": parser}
    plan = planned(bench)
    assert {request.body["tool_choice"] for request in plan.requests["tools"]} == {choice}
    assert all(request.body["tools"] == [TOOLSET] for request in plan.requests["tools"])
    assert all("tools" not in request.body for request in plan.requests["qa"])


WRONG: dict[str, tuple[Callable[[Bench], None], str]] = {
    "no room for the answer": (
        lambda bench: bench.edit_row("qa.jsonl", messages=[{"role": "user", "content": "x" * 1000}]),
        r"qa-000: 10\d\d prompt tokens leave no room for 32 more in engine.max_model_len 1024; shorten",
    ),
    "unknown toolset": (
        lambda bench: bench.edit_row("tools.jsonl", toolset="bank"),
        r"tool-000: no toolset 'bank'; there are: shop",
    ),
    "the template refuses": (
        lambda bench: bench.edit_row("qa.jsonl", messages=[{"role": "tool", "content": "x"}]),
        r"qa-000: no prompt can be made .*a tool cannot speak first",
    ),
    "arguments are not JSON": (
        lambda bench: bench.edit_row(
            "qa.jsonl",
            messages=[
                {"role": "user", "content": "x"},
                {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{oops"}}]},
            ],
        ),
        r"qa-000: no prompt can be made",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_asked_is_named_before_anything_starts(bench: Bench, name: str) -> None:
    break_it, says = WRONG[name]
    break_it(bench)
    with pytest.raises(InputError, match=says):
        planned(bench)
