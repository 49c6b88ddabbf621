"""The scenes: what a decision turned on, and what its gates could not have seen."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.reporting.html.limits import gate_size, limits, measured_psi
from pipelines.reporting.html.scenes import scene_views
from pipelines.reporting.html.turning import NOTHING, what_would_change
from registry.gate.decision import CandidateVerdict, GateResult, SceneDecision
from registry.gate.policy import NonInferiority
from registry.gate.power import power
from registry.gate.tango import bounds
from tests.pipelines.report_material import material
from tests.pipelines.report_settings import profile


def gate(test: str = "noninferiority", outcome: str = "PASS", **numbers: Any) -> GateResult:
    given = {"test": test, "suite": "qa", "verdict": "strict", "outcome": outcome, "reason": "why"}
    return GateResult.model_validate(given | numbers)


def scene(chosen: str, *candidates: tuple[str, str, list[GateResult]]) -> SceneDecision:
    verdicts = [
        CandidateVerdict.model_validate({"candidate": name, "outcome": outcome, "reason": "because", "gates": gates})
        for name, outcome, gates in candidates
    ]
    return SceneDecision(scene="qa", chosen=chosen, reason="r", require="none", candidates=verdicts)


BASELINE: tuple[str, str, list[GateResult]] = ("bf16", "PASS", [])
CLOSE = gate(losses=5, gains=5, n=96, losses_that_pass=9, losses_that_fail=25)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (scene("bf16", BASELINE), [NOTHING]),
        (
            scene("int4", ("int4", "PASS", [CLOSE, gate("baseline_floor")]), ("fp8", "PASS", []), BASELINE),
            [
                "int4 would have given way to fp8 with any of these: more than 9 losses on qa (5 seen, and from 25 on "
                "FAIL); the baseline below its floor on qa."
            ],
        ),
        (
            scene(
                "fp8",
                (
                    "int4",
                    "FAIL",
                    [
                        gate(outcome="INCONCLUSIVE", losses=13.5, losses_that_pass=4.25),
                        gate("new_losses", "FAIL", losses=4, losses_that_pass=3),
                        gate("must_pass", "FAIL", losses=1, n=8, losses_that_pass=0),
                        gate("baseline_floor"),
                    ],
                ),
                ("fp8", "PASS", [gate("new_losses", losses=0, losses_that_pass=1), gate("must_pass", losses=0, n=8)]),
                BASELINE,
            ),
            [
                "int4 would have served, being cheaper, with all of these: at most 4.25 losses on qa instead of 13.5; "
                "at most 3 new losses of the rule's families instead of 4; no must-pass item of qa newly lost instead "
                "of 1.",
                "fp8 would have given way to bf16 with any of these: more than 1 new loss of the rule's families (0 "
                "seen); one of the 8 must-pass items of qa newly lost.",
            ],
        ),
        (
            scene("bf16", ("int4", "INCONCLUSIVE", [gate(outcome="INCONCLUSIVE", losses=3)]), BASELINE),
            [
                "int4 would have served, being cheaper, with all of these: another suite than qa, where with these "
                "gains no number of losses passes."
            ],
        ),
        (
            scene(
                "bf16",
                ("noisy", "INCONCLUSIVE", [gate(outcome="INCONCLUSIVE", losses=3, losses_that_pass=4)]),
                ("blocked", "INCONCLUSIVE", []),
                BASELINE,
            ),
            [
                "noisy would have served, being cheaper, with all of these: noninferiority otherwise than now (why).",
                "blocked would have served, being cheaper, but for this: because.",
            ],
        ),
        (
            scene("int4", ("int4", "PASS", [gate("sequential")]), BASELINE),
            ["int4 would have given way to bf16 with any of these: sequential on qa not passing."],
        ),
    ],
)
def test_what_would_have_changed_the_decision(found: SceneDecision, told: list[str]) -> None:
    assert what_would_change(found, "bf16") == told


def test_every_scene_has_its_candidates_and_their_intervals() -> None:
    [view] = scene_views(material())
    assert (view.name, view.chosen, view.share) == ("tools", "fp8", 100)
    assert [(one.name, one.serves, len(one.strips)) for one in view.candidates] == [
        ("awq-int4", False, 1),
        ("fp8", True, 1),
        ("bf16", False, 0),
    ]
    assert view.candidates[0].failing == ["noninferiority FAIL", "must_pass FAIL"]


def test_what_the_gates_could_not_have_decided() -> None:
    made = material()
    [decided] = made.decision.scenes
    told = limits(decided, made)
    lower, _ = bounds(0, 0, 48, 0.05)
    chance = power(48, 0.16, 0.05, 4 / 6)
    assert told[0].startswith(
        "tools strict, 48 items, margin 16 pp: a margin under 10.1 pp would have been out of reach."
    )
    assert told[1].startswith(f"Even without one disagreement a true drop of up to {-100 * lower:.2f} pp stays")
    assert told[1].endswith("one item is 2.08 pp.")
    assert f"{100 * chance:.0f} % at awq-int4's 66.7 %" in told[2]


def test_the_limits_name_every_kind_of_gate() -> None:
    rules = [
        {"test": "new_losses", "suite": "tools", "families": ["numbers"], "max_new_losses": 3},
        {"test": "must_pass", "suite": "tools"},
        {"test": "baseline_floor", "suite": "tools", "min_accuracy": 0.5},
    ]
    policy = {"baseline": "bf16", "scenes": {"tools": {"traffic_share": 1.0, "candidates": ["fp8"], "gates": rules}}}
    made = material(count=48)
    changed = type(made)(**(vars(made) | {"profile": profile(policy=policy)}))
    # 15.4 % is the rate at which 3 or fewer of 48 are seen in one of twenty runs: 1 - 0.05 of Beta(4, 45).
    assert limits(made.decision.scenes[0], changed) == [
        "new_losses on tools: a true rate of 15.4 % of such losses still meets the rule in 5 % of the runs on 48 "
        "items.",
        "must_pass on tools sees the 1 marked items and no other.",
    ]


def test_only_the_baseline_leaves_nothing_to_decide() -> None:
    gates = [{"test": "baseline_floor", "suite": "tools", "min_accuracy": 0.5}]
    policy = {"baseline": "bf16", "scenes": {"tools": {"traffic_share": 1.0, "candidates": ["bf16"], "gates": gates}}}
    made = material()
    changed = type(made)(**(vars(made) | {"profile": profile(policy=policy)}))
    assert limits(made.decision.scenes[0], changed) == [
        "Nothing was to be decided: only the baseline may serve this scene."
    ]


def test_a_gate_that_counts_clusters_for_less_has_fewer_independent_items() -> None:
    made, rule = material(), NonInferiority(test="noninferiority", suite="tools", margin_pp=16.0)
    [decided] = made.decision.scenes
    fewer = [
        verdict.model_copy(update={"gates": [one.model_copy(update={"n": 32.7}) for one in verdict.gates]})
        for verdict in decided.candidates
    ]
    assert gate_size(rule, decided, made) == 48
    assert gate_size(rule, decided.model_copy(update={"candidates": fewer}), made) == 32
    assert gate_size(rule, decided.model_copy(update={"candidates": []}), made) == 6
    assert measured_psi(rule, made) == pytest.approx({"awq-int4": 4 / 6, "fp8": 4 / 6, "baseline-again": 0.0})
