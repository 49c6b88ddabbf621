"""The decision: verdict and choice per scene, what breaks it, what makes it inconclusive, and the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from evalsets.items import Suite
from evalsets.records import digest
from judges.verdicts import Verdict
from registry.evidence import EngineRecord
from registry.gate.decide import Evidence, decide
from registry.gate.decision import Decision
from registry.gate.policy import Policy
from tests.registry.gate.evidence_builders import (
    FAILING,
    INCONCLUSIVE,
    MUST_PASS,
    PASSING,
    PROFILE,
    SHA,
    SUITE,
    candidate_verdicts,
    comparison,
    decided,
    engine,
    noninferiority_gate,
    tools,
    tools_policy,
)


def two_candidates(losses: Mapping[str, int], **scene: Any) -> Decision:
    """awq-int4 before fp8 before the baseline, each with its losses of 180 at 4 pp."""
    settings = {"candidates": ["awq-int4", "fp8", "bf16"], "require": "none"} | scene
    engines = {run: engine(run) for run in ("bf16", "awq-int4", "fp8")} | {
        "baseline-again": engine("baseline-again", "bf16")
    }
    compared = {run: comparison(run, tools(count)) for run, count in losses.items()}
    again = comparison("baseline-again", tools(0, same_text=True))
    return decide(PROFILE, tools_policy(scene=settings), Evidence(compared, again, engines, {}))


@pytest.mark.parametrize(
    ("awq", "fp8", "chosen", "reason"),
    [
        (PASSING, PASSING, "awq-int4", "awq-int4 is the first of awq-int4, fp8, bf16 that passes every gate"),
        (FAILING, PASSING, "fp8", "fp8 is the first"),
        (INCONCLUSIVE, PASSING, "fp8", "fp8 is the first"),
        (FAILING, INCONCLUSIVE, "bf16", "no cheaper candidate passes: bf16, the baseline, serves"),
        (PASSING, FAILING, "awq-int4", "awq-int4 is the first"),
    ],
)
def test_the_first_candidate_that_passes_is_chosen(awq: int, fp8: int, chosen: str, reason: str) -> None:
    [scene] = two_candidates({"awq-int4": awq, "fp8": fp8}).scenes
    assert scene.chosen == chosen
    assert scene.reason.startswith(reason)
    assert [verdict.candidate for verdict in scene.candidates] == ["awq-int4", "fp8", "bf16"]


def test_the_baseline_always_passes() -> None:
    baseline = two_candidates({"awq-int4": FAILING, "fp8": FAILING}).scenes[0].candidates[-1]
    assert (baseline.outcome, baseline.gates) == ("PASS", [])
    assert baseline.reason == "bf16 is the baseline: always allowed"


def test_a_scene_may_have_the_baseline_alone() -> None:
    decision = decided(tools_policy(scene={"candidates": ["bf16"], "require": "bf16"}), tools(FAILING)["tools"])
    assert (decision.scenes[0].chosen, decision.exit_code) == ("bf16", 0)
    assert decision.scenes[0].reason == "bf16 is the baseline and comes first"


EXIT_CODES = [
    ("fp8", PASSING, 0, 0),
    ("fp8", FAILING, 0, 1),
    ("fp8", INCONCLUSIVE, 0, 3),
    ("none", FAILING, 0, 0),
    ("none", INCONCLUSIVE, 0, 0),
    ("bf16", FAILING, 0, 0),
    ("fp8", PASSING, 2, 2),
    ("fp8", FAILING, 2, 2),
    ("none", PASSING, 2, 2),
]


@pytest.mark.parametrize(("require", "losses", "not_judged", "code"), EXIT_CODES)
def test_exit_codes(require: str, losses: int, not_judged: int, code: int) -> None:
    candidate = candidate_verdicts("tools", 180, losses, not_judged=not_judged)
    assert decided(tools_policy(scene={"require": require}), candidate).exit_code == code


def test_a_required_fail_outranks_a_required_inconclusive() -> None:
    scene = {"traffic_share": 0.5, "candidates": ["awq-int4", "fp8", "bf16"], "gates": [noninferiority_gate()]}
    policy = Policy.model_validate(
        {
            "baseline": "bf16",
            "scenes": {"a": scene | {"require": "awq-int4"}, "b": scene | {"require": "fp8"}},
        }
    )
    engines = {run: engine(run) for run in ("bf16", "awq-int4", "fp8")}
    engines["baseline-again"] = engine("baseline-again", "bf16")
    compared = {"awq-int4": comparison("awq-int4", tools(INCONCLUSIVE)), "fp8": comparison("fp8", tools(FAILING))}
    again = comparison("baseline-again", tools(0, same_text=True))
    assert decide(PROFILE, policy, Evidence(compared, again, engines, {})).exit_code == 1


FLOOR = {"test": "baseline_floor", "suite": "tools", "min_accuracy": 0.9}
AGGREGATED = [
    ([noninferiority_gate()], PASSING, "PASS", "noninferiority"),
    ([noninferiority_gate(), MUST_PASS], PASSING, "PASS", "noninferiority"),
    ([noninferiority_gate(), FLOOR], PASSING, "INCONCLUSIVE", "baseline_floor"),
    ([FLOOR, noninferiority_gate()], FAILING, "FAIL", "noninferiority"),
    ([noninferiority_gate(), MUST_PASS], 1, "FAIL", "must_pass"),
    ([noninferiority_gate(), MUST_PASS], INCONCLUSIVE, "FAIL", "must_pass"),
]


@pytest.mark.parametrize(("gates", "losses", "outcome", "decisive"), AGGREGATED)
def test_one_fail_fails_and_all_must_pass(
    gates: list[dict[str, Any]], losses: int, outcome: str, decisive: str
) -> None:
    decision = decided(tools_policy(*gates), tools(losses)["tools"], must_pass=["tools-0000"])
    verdict = decision.scenes[0].candidates[0]
    assert verdict.outcome == outcome
    [reason] = [gate.reason for gate in verdict.gates if gate.test == decisive]
    assert verdict.reason == reason


def test_answers_identical_to_the_baselines_never_pass() -> None:
    decision = decided(tools_policy(), tools(0, same_text=True)["tools"])
    verdict = decision.scenes[0].candidates[0]
    assert (verdict.outcome, decision.exit_code, decision.broken) == ("INCONCLUSIVE", 3, [])
    assert "all 180 answers are identical to the baseline's: the quantized weights were not served" in verdict.reason


@pytest.mark.parametrize(("losses", "outcome"), [(PASSING, "INCONCLUSIVE"), (FAILING, "FAIL")])
def test_the_dev_split_never_passes(losses: int, outcome: str) -> None:
    dev = {"suites": {"tools": SUITE | {"split": "dev"}}}
    engines = {run: engine(run, shared=dev) for run in ("bf16", "fp8")}
    engines["baseline-again"] = engine("baseline-again", "bf16", shared=dev)
    again = comparison("baseline-again", tools(0, same_text=True))
    decision = decide(PROFILE, tools_policy(), Evidence({"fp8": comparison("fp8", tools(losses))}, again, engines, {}))
    verdict = decision.scenes[0].candidates[0]
    assert verdict.outcome == outcome
    if losses == PASSING:
        assert verdict.reason == (
            "fp8: INCONCLUSIVE, tools asked from the dev split, on which recipes are tuned; ask the release split"
        )


def test_one_answer_of_another_text_is_enough() -> None:
    candidate = tools(0, same_text=True)["tools"]
    candidate[7] = candidate[7].model_copy(update={"raw_sha256": SHA["other"]})
    assert decided(tools_policy(), candidate).scenes[0].candidates[0].outcome == "PASS"


def test_identical_in_one_suite_of_two_is_enough_as_well() -> None:
    suites: dict[Suite, list[Verdict]] = {
        "tools": candidate_verdicts("tools", 180, same_text=True),
        "qa": candidate_verdicts("qa", 100),
    }
    silent: dict[Suite, list[Verdict]] = {
        suite: candidate_verdicts(suite, len(rows), same_text=True) for suite, rows in suites.items()
    }
    engines = {run: engine(run) for run in ("bf16", "fp8")} | {"baseline-again": engine("baseline-again", "bf16")}
    again = comparison("baseline-again", silent)
    for candidate, outcome in [(suites, "PASS"), (silent, "INCONCLUSIVE")]:
        decision = decide(PROFILE, tools_policy(), Evidence({"fp8": comparison("fp8", candidate)}, again, engines, {}))
        assert decision.scenes[0].candidates[0].outcome == outcome


def test_the_baselines_files_under_another_name_never_pass() -> None:
    decision = decided(tools_policy(), tools(0)["tools"], engines={"fp8": engine("fp8", served_digest=SHA["bf16"])})
    assert decision.scenes[0].candidates[0].outcome == "INCONCLUSIVE"
    assert "the engine loaded the baseline's own files" in decision.scenes[0].candidates[0].reason


BROKEN_ENGINES: list[tuple[str, EngineRecord, str]] = [
    ("fp8", engine("fp8", shared={"dtype": "float16"}), "fp8: served otherwise than bf16 (dtype)"),
    (
        "baseline-again",
        engine("baseline-again", "bf16", shared={"max_num_seqs": 1}),
        "baseline-again: served otherwise",
    ),
    ("baseline-again", engine("baseline-again", "bf16", order_seed=1), "in the same order as bf16 (order_seed 1)"),
    ("baseline-again", engine("baseline-again", "fp8"), "other weights than bf16's"),
    ("fp8", engine("fp8", profile="a100"), "the engine record is of profile a100, not demo"),
]


@pytest.mark.parametrize(
    ("run", "record", "message"), BROKEN_ENGINES, ids=[message for _, _, message in BROKEN_ENGINES]
)
@pytest.mark.parametrize("losses", [PASSING, FAILING])
def test_what_cannot_be_compared_is_broken(run: str, record: EngineRecord, message: str, losses: int) -> None:
    decision = decided(tools_policy(), tools(losses)["tools"], engines={run: record})
    verdict = decision.scenes[0].candidates[0]
    assert (decision.exit_code, verdict.outcome, verdict.gates) == (2, "INCONCLUSIVE", [])
    assert decision.scenes[0].chosen == "bf16"
    assert any(message in problem for problem in decision.broken)


@pytest.mark.parametrize(
    ("n", "not_judged", "broken"), [(180, 0, False), (180, 1, True), (640, 3, False), (640, 4, True), (200, 1, False)]
)
def test_half_a_percent_may_be_unjudged(n: int, not_judged: int, broken: bool) -> None:
    decision = decided(tools_policy(), candidate_verdicts("tools", n, not_judged=not_judged))
    assert (decision.exit_code == 2) == broken
    if broken:
        assert f"fp8 on tools: {not_judged} of {n} items not judged (tools-0000" in decision.broken[0]


def test_an_unjudged_noise_floor_breaks_every_candidate() -> None:
    again = candidate_verdicts("tools", 180, not_judged=2)
    decision = decided(tools_policy(), tools(0)["tools"], again)
    assert (decision.exit_code, decision.scenes[0].candidates[0].outcome) == (2, "INCONCLUSIVE")


def test_a_must_pass_gate_without_items_is_an_empty_gate() -> None:
    decision = decided(tools_policy(noninferiority_gate(), MUST_PASS), tools(0)["tools"])
    assert decision.exit_code == 2
    assert decision.broken == [
        "policy.scenes.tools.gates.1: no item of suite tools is marked must_pass; "
        "mark some among those asked or leave the gate out"
    ]


def test_a_comparison_made_from_older_files_is_broken() -> None:
    engines = {"bf16": engine("bf16"), "fp8": engine("fp8"), "baseline-again": engine("baseline-again", "bf16")}
    again = comparison("baseline-again", tools(0, same_text=True))
    compared = {"fp8": comparison("fp8", tools(0))}
    decision = decide(PROFILE, tools_policy(), Evidence(compared, again, engines, {"engine/fp8.json": SHA["other"]}))
    assert decision.exit_code == 2
    assert decision.broken == ["fp8: compared from another version of engine/fp8.json; run the compare stage again"]


def test_the_decision_says_what_it_was_made_from() -> None:
    policy = tools_policy()
    decision = decided(policy, tools(0)["tools"])
    assert decision.policy_sha256 == digest(policy)
    assert decision.weights == {"bf16": SHA["bf16"], "fp8": SHA["fp8"]}
    assert decision.executions.keys() == {"bf16", "fp8"}
    assert decision.inputs == {"engine/fp8.json": SHA["suite"]}
    assert decided(policy, tools(0)["tools"]) == decision
