"""Pairing two runs: counts that add up, labels that change, and everything that must be refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsets.items import Suite
from evalsets.records import InputError
from judges.verdicts import Verdict
from registry.evidence import EngineRecord, PairedTable, SharedSettings, SuiteComparison
from registry.gate.compare import Asked, compare
from registry.gate.pairing import JudgedRun
from tests.registry.gate.evidence_builders import (
    SHA,
    baseline_verdicts,
    candidate_verdicts,
    comparison,
    engine,
    ids,
    unjudged,
    verdict,
)


def compared(candidate: list[Verdict], must_pass: tuple[str, ...] = ()) -> SuiteComparison:
    return comparison("fp8", {"tools": candidate}, must_pass).suites["tools"]


def test_counts_labels_and_texts() -> None:
    result = compared(candidate_verdicts("tools", 20, losses=2, gains=1, labels=["float_drift"]), ("tools-0001",))
    assert result.strict == PairedTable(n=20, both_right=14, losses=2, gains=1, both_wrong=3)
    assert [(loss.item_id, loss.label, loss.must_pass) for loss in result.new_losses] == [
        ("tools-0000", "float_drift", False),
        ("tools-0001", "wrong_tool", True),
    ]
    assert result.gained == ["tools-0019"]
    assert result.must_pass == ["tools-0001"]
    assert [(step.baseline, step.candidate, step.count) for step in result.transitions] == [
        ("ok", "float_drift", 1),
        ("ok", "ok", 14),
        ("ok", "wrong_tool", 1),
        ("wrong_tool", "ok", 1),
        ("wrong_tool", "wrong_tool", 3),
    ]
    assert (result.identical, result.baseline_tokens, result.candidate_tokens) == (0, 200, 200)


def test_tolerant_verdicts_have_their_own_table() -> None:
    candidate = candidate_verdicts("tools", 20, losses=2)
    candidate[0] = candidate[0].model_copy(update={"tolerant_ok": True})
    result = compared(candidate)
    assert (result.strict.losses, result.tolerant.losses) == (2, 1)


def test_unjudged_items_are_losses_in_the_sensitivity_line_only() -> None:
    result = compared(candidate_verdicts("tools", 20, losses=1, not_judged=2))
    assert result.unjudged == ["tools-0001", "tools-0002"]
    assert (result.strict.n, result.strict.losses) == (18, 1)
    assert (result.pessimistic.n, result.pessimistic.losses) == (20, 3)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.data())
def test_every_item_is_counted_once(n: int, data: st.DataObject) -> None:
    losses = data.draw(st.integers(0, n - n // 5))
    not_judged = data.draw(st.integers(0, n - losses))
    gains = data.draw(st.integers(0, n // 5))
    result = compared(candidate_verdicts("tools", n, losses, gains, not_judged=not_judged))
    assert result.strict.n + len(result.unjudged) == result.pessimistic.n == n
    for counts in (result.strict, result.tolerant, result.pessimistic):
        assert counts.both_right + counts.losses + counts.gains + counts.both_wrong == counts.n
    assert sum(step.count for step in result.transitions) == result.strict.n
    assert (len(result.new_losses), len(result.gained)) == (result.strict.losses, result.strict.gains)


def test_the_order_of_the_rows_does_not_matter() -> None:
    candidate = candidate_verdicts("tools", 20, losses=2, gains=1)
    assert compared(candidate) == compared(candidate[::-1])


def test_identical_texts_are_counted_among_judged_items() -> None:
    candidate = candidate_verdicts("tools", 20, not_judged=1, same_text=True)
    assert compared(candidate).identical == 19


CHANGED: dict[str, object] = {
    "suites": {},
    "toolsets_sha256": SHA["other"],
    "template_sha256": SHA["other"],
    "prompts_sha256": SHA["other"],
    "sampling_sha256": SHA["other"],
    "engine": "another",
    "engine_version": "9",
    "device": "NVIDIA A100",
    "compute_capability": "8.0",
    "dtype": "float16",
    "attention_backend": "FLASH_ATTN",
    "max_model_len": 1,
    "max_num_seqs": 1,
    "max_num_batched_tokens": 1,
    "prefix_caching": False,
}


def test_every_shared_setting_is_covered_below() -> None:
    assert list(CHANGED) == list(SharedSettings.model_fields)


@pytest.mark.parametrize(("name", "value"), CHANGED.items())
def test_a_shared_setting_that_differs_is_named(name: str, value: object) -> None:
    record = engine("fp8", shared={name: value})
    result = comparison("fp8", {"tools": candidate_verdicts("tools", 5)}, candidate_engine=record)
    assert result.mismatches == [name]


@pytest.mark.parametrize(("name", "value"), [("profile", "a100"), ("dialect", "hermes"), ("tool_parser", "hermes")])
def test_what_else_decides_a_verdict_must_be_equal(name: str, value: str) -> None:
    record = engine("fp8", **{name: value})
    result = comparison("fp8", {"tools": candidate_verdicts("tools", 5)}, candidate_engine=record)
    assert result.mismatches == [name]


def test_another_judge_is_a_mismatch() -> None:
    candidate = candidate_verdicts("tools", 5)
    candidate[3] = candidate[3].model_copy(update={"judge_version": "0"})
    assert comparison("fp8", {"tools": candidate}).mismatches == ["judge_version"]


def test_what_may_differ_is_no_mismatch() -> None:
    record = engine("fp8", served_digest=SHA["other"], order_seed=9)
    assert comparison("fp8", {"tools": candidate_verdicts("tools", 5)}, candidate_engine=record).mismatches == []


REFUSED: list[tuple[str, Callable[[list[Verdict]], list[Verdict]], list[str]]] = [
    ("missing", lambda rows: rows[1:4], ["fp8", "suite tools", "lacks tools-0000, tools-0004", "3 of 5"]),
    ("extra", lambda rows: [*rows, verdict("tools-9999", "tools", None, "x")], ["has tools-9999 that the suite"]),
    ("twice", lambda rows: [*rows, rows[2]], ["fp8", "more than once: tools-0002"]),
    ("empty", lambda rows: [], ["lacks tools-0000", "0 of 5"]),
    ("another suite", lambda rows: [rows[0].model_copy(update={"suite": "qa"}), *rows[1:]], ["belongs to suite qa"]),
    ("no raw", lambda rows: [rows[0].model_copy(update={"raw_sha256": ""}), *rows[1:]], ["tools-0000", "raw answer"]),
    (
        "no label",
        lambda rows: [rows[0].model_copy(update={"strict_ok": False}), *rows[1:]],
        ["tools-0000", "without a label"],
    ),
]


def against_baseline(baseline: list[Verdict], candidate: list[Verdict], record: EngineRecord) -> None:
    compare(
        JudgedRun("bf16", {"tools": baseline}, engine("bf16")),
        JudgedRun("fp8", {"tools": candidate}, record),
        {"tools": dict.fromkeys(ids("tools", 5), Asked(False, "c"))},
        {},
    )


@pytest.mark.parametrize(("name", "spoil", "parts"), REFUSED, ids=[name for name, _, _ in REFUSED])
@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_rows_that_do_not_fit_are_refused(
    name: str, spoil: Callable[[list[Verdict]], list[Verdict]], parts: list[str], side: str
) -> None:
    rows = {"baseline": baseline_verdicts("tools", 5), "candidate": candidate_verdicts("tools", 5)}
    rows[side] = spoil(rows[side])
    with pytest.raises(InputError) as caught:
        against_baseline(rows["baseline"], rows["candidate"], engine("fp8"))
    for part in parts:
        assert part.replace("fp8", "fp8" if side == "candidate" else "bf16") in str(caught.value)


def test_deleting_the_same_failures_on_both_sides_is_refused() -> None:
    rows = candidate_verdicts("tools", 5, losses=1)[1:]
    with pytest.raises(InputError, match="bf16, suite tools: lacks tools-0000"):
        against_baseline(baseline_verdicts("tools", 5)[1:], rows, engine("fp8"))


def test_an_unjudged_row_needs_neither_text_nor_label() -> None:
    rows = candidate_verdicts("tools", 5)
    rows[0] = unjudged("tools-0000", "tools")
    against_baseline(baseline_verdicts("tools", 5), rows, engine("fp8"))


def test_the_engine_record_of_another_run_is_refused() -> None:
    with pytest.raises(InputError, match="'awq-int4' was given for run 'fp8'"):
        against_baseline(baseline_verdicts("tools", 5), candidate_verdicts("tools", 5), engine("awq-int4"))


def test_a_suite_without_verdicts_or_items_is_refused() -> None:
    run = JudgedRun("bf16", {}, engine("bf16"))
    with pytest.raises(InputError, match="there are none; run the judge stage for bf16"):
        compare(run, run, {"tools": {"tools-0000": Asked(False, "c")}}, {})
    with pytest.raises(InputError, match="no items to compare"):
        compare(run, run, {"tools": {}}, {})


def passes(item: str, rights: list[bool]) -> list[Verdict]:
    """An item's verdicts over its runs."""
    return [
        verdict(item, "tools", None if right else "float_drift", f"{item}{run}").model_copy(update={"run": run})
        for run, right in enumerate(rights)
    ]


def test_repeated_items_count_by_their_mean_difference() -> None:
    right, half, wrong = [True, True], [True, False], [False, False]
    before = {"a": right, "b": right, "c": half, "d": right, "e": wrong}
    after = {"a": right, "b": wrong, "c": wrong, "d": half, "e": right}
    result = compare(
        JudgedRun("bf16", {"tools": [v for item, runs in before.items() for v in passes(item, runs)]}, engine("bf16")),
        JudgedRun("fp8", {"tools": [v for item, runs in after.items() for v in passes(item, runs)]}, engine("fp8")),
        {"tools": {item: Asked(item == "d", item) for item in before}},
        {},
    ).suites["tools"]
    # Mean differences 0, 1, 1/2, 1/2, -1: their sum is 1, the squares of the losses 1.5 and of the gain 1.
    assert result.strict == PairedTable(n=5, both_right=1.5, losses=2.0, gains=1.0, both_wrong=0.5)
    assert result.runs == 2
    assert [(loss.item_id, loss.must_pass) for loss in result.new_losses] == [("b", False), ("d", True)]
    assert result.gained == ["e"]
    assert sum(step.count for step in result.transitions) == 10


def test_a_run_with_another_number_of_passes_is_refused() -> None:
    once = [v for item in ("a", "b") for v in passes(item, [True])]
    twice = [v for item in ("a", "b") for v in passes(item, [True, True])]
    asked: dict[Suite, dict[str, Asked]] = {"tools": {item: Asked(False, item) for item in ("a", "b")}}
    with pytest.raises(InputError, match="lacks a#2, b#2"):
        compare(
            JudgedRun("bf16", {"tools": twice}, engine("bf16")),
            JudgedRun("fp8", {"tools": once}, engine("fp8")),
            asked,
            {},
        )


def test_clusters_that_fail_together_show_in_the_design_effect() -> None:
    names = ids("tools", 40)
    lost = [verdict(name, "tools", "float_drift" if index < 8 else None, name) for index, name in enumerate(names)]
    before = [verdict(name, "tools", None, name) for name in names]
    clusters = {"together": 8, "alone": 1}
    found = {
        kind: compare(
            JudgedRun("bf16", {"tools": before}, engine("bf16")),
            JudgedRun("fp8", {"tools": lost}, engine("fp8")),
            {"tools": {name: Asked(False, str(index // size)) for index, name in enumerate(names)}},
            {},
        )
        .suites["tools"]
        .design_effect
        for kind, size in clusters.items()
    }
    assert found["alone"] == pytest.approx(1.0)
    assert found["together"] > 5
