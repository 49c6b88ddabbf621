"""The non-inferiority gate: its sentence, the noise floor, the alarms and the sensitivity line."""

from __future__ import annotations

import pytest

from registry.gate.noise import blamed_on_noise
from registry.gate.outcome import against, outcome
from registry.gate.policy import NonInferiority
from tests.registry.gate.evidence_builders import (
    candidate_verdicts,
    decided,
    noninferiority_gate,
    only_gate,
    table,
    tools_policy,
)

GATE = NonInferiority(test="noninferiority", suite="tools", margin_pp=4.0)


@pytest.mark.parametrize(
    ("losses", "gains", "sentence"),
    [
        (
            5,
            2,
            "fp8 on tools: INCONCLUSIVE, 5 losses, 2 gains of 180, lower bound -4.6 pp against 4.0; "
            "4 losses would have passed, 16 would have failed; at these rates 267 items would give PASS",
        ),
        (
            1,
            0,
            "fp8 on tools: PASS, 1 loss, 0 gains of 180, lower bound -2.5 pp against 4.0; "
            "up to 2 losses would have passed",
        ),
        (
            12,
            0,
            "fp8 on tools: FAIL, 12 losses, 0 gains of 180, upper bound -4.2 pp against 4.0; "
            "2 losses would have passed; harm alarm: mid-p McNemar 0.00024",
        ),
        (
            11,
            1,
            "fp8 on tools: INCONCLUSIVE, 11 losses, 1 gain of 180, lower bound -9.3 pp against 4.0; "
            "3 losses would have passed, 14 would have failed; at these rates 607 items would give FAIL; "
            "harm alarm: mid-p McNemar 0.0034",
        ),
    ],
)
def test_the_sentence(losses: int, gains: int, sentence: str) -> None:
    result = only_gate(decided(tools_policy(), candidate_verdicts("tools", 180, losses, gains)))
    assert result.reason == sentence
    assert (result.n, result.losses, result.gains, result.margin_pp) == (180, losses, gains, 4.0)


def test_numbers_are_percentage_points_and_not_rounded() -> None:
    result = only_gate(decided(tools_policy(), candidate_verdicts("tools", 180, 5, 2)))
    assert result.drop_pp == pytest.approx(100 * 3 / 180, abs=1e-12)
    assert result.lower_pp == pytest.approx(-4.638744, abs=1e-6)
    assert result.upper_pp == pytest.approx(0.900598, abs=1e-6)
    assert (result.losses_that_pass, result.losses_that_fail) == (4, 16)


def test_a_margin_just_beside_the_bound_decides_exactly_and_prints_apart() -> None:
    lower_pp = 4.638744
    for margin_pp, expected in [(lower_pp - 1e-3, "INCONCLUSIVE"), (lower_pp + 1e-3, "PASS")]:
        policy = tools_policy(noninferiority_gate(round(margin_pp, 6)))
        result = only_gate(decided(policy, candidate_verdicts("tools", 180, 5, 2)))
        assert result.outcome == expected
        assert f"bound -4.638744 pp against {margin_pp:.6f}" in result.reason


@pytest.mark.parametrize(
    ("bound", "margin", "text"),
    [
        (-4.64, 4.0, "-4.6 pp against 4.0"),
        (-4.02, 4.0, "-4.02 pp against 4.00"),
        (-1.0, 2.25, "-1.00 pp against 2.25"),
        (-2.5, 2.5, "-2.5 pp against 2.5"),
        (0.2, 2.5, "0.2 pp against 2.5"),
    ],
)
def test_wording_of_bound_and_margin(bound: float, margin: float, text: str) -> None:
    assert against(bound, margin) == text


def test_the_tolerant_verdict_is_gated_on_its_own_table() -> None:
    candidate = [
        row.model_copy(update={"tolerant_ok": True}) for row in candidate_verdicts("tools", 180, losses=20, gains=0)
    ]
    strict, tolerant = (
        only_gate(decided(tools_policy(noninferiority_gate(verdict=kind)), candidate))
        for kind in ("strict", "tolerant")
    )
    assert (strict.outcome, strict.losses, strict.verdict) == ("FAIL", 20, "strict")
    assert (tolerant.outcome, tolerant.losses, tolerant.verdict) == ("PASS", 0, "tolerant")
    assert tolerant.reason.startswith("fp8 on tools (tolerant): PASS")


# candidate losses and gains, baseline-again losses and gains (of 180, 4 pp: 2 losses alone pass), is it noise
NOISE = [
    ("a silent server", (0, 0), (0, 0), None),
    ("a perfect candidate on a nearly silent server", (0, 0), (1, 1), None),
    ("noise too small to turn the verdict", (2, 2), (1, 1), None),
    ("again FAILs: the candidate's FAIL is not its own", (60, 0), (20, 0), "asked again does not pass"),
    ("again FAILs: nor is its PASS", (0, 0), (20, 0), "asked again does not pass"),
    ("again is INCONCLUSIVE: a PASS does not count", (2, 2), (5, 2), "asked again does not pass"),
    ("again is INCONCLUSIVE: a plain FAIL stands", (60, 0), (5, 2), None),
    ("noise near the candidate's disagreement", (4, 4), (3, 4), "with itself on 7 items, the candidate on 8"),
    ("noise near a FAIL's disagreement", (16, 0), (6, 6), "nothing can be blamed on quantization"),
    ("noise below a disagreement that is mostly gains", (3, 20), (3, 4), None),
    ("noise far below a FAIL's disagreement", (40, 0), (3, 4), None),
]


@pytest.mark.parametrize(("name", "candidate", "again", "reason"), NOISE, ids=[name for name, *_ in NOISE])
def test_noise_floor(name: str, candidate: tuple[int, int], again: tuple[int, int], reason: str | None) -> None:
    counts = table(*candidate, 180)
    found = blamed_on_noise(outcome(counts, GATE), counts, table(*again, 180), GATE)
    if reason is None:
        assert found is None
    else:
        assert found is not None
        assert reason in found


def test_noise_makes_the_gate_inconclusive() -> None:
    again = candidate_verdicts("tools", 180, 20, 0)
    for losses in (0, 60):
        result = only_gate(decided(tools_policy(), candidate_verdicts("tools", 180, losses), again))
        assert result.outcome == "INCONCLUSIVE"
        assert "the baseline asked again does not pass this gate either (20 losses and 0 gains of 180)" in result.reason


def test_gains_too_good_to_be_true_are_flagged() -> None:
    result = only_gate(decided(tools_policy(), candidate_verdicts("tools", 180, 0, 15)))
    assert result.outcome == "PASS"
    assert "implausible gains (mid-p McNemar 3.1e-05): check that both runs were served alike" in result.reason


def test_a_few_gains_are_not() -> None:
    assert "implausible" not in only_gate(decided(tools_policy(), candidate_verdicts("tools", 180, 0, 5))).reason


@pytest.mark.parametrize(("tokens", "flagged"), [(11, False), (12, True), (9, False)])
def test_longer_completions_are_flagged(tokens: int, flagged: bool) -> None:
    candidate = [
        row.model_copy(update={"completion_tokens": tokens}) for row in candidate_verdicts("tools", 180, losses=1)
    ]
    assert ("completions are 20 % longer" in only_gate(decided(tools_policy(), candidate)).reason) == flagged


def test_unjudged_items_give_a_sensitivity_line() -> None:
    policy = tools_policy(max_unjudged_rate=0.01)
    result = only_gate(decided(policy, candidate_verdicts("tools", 180, losses=2, not_judged=1)))
    assert (result.outcome, result.n) == ("PASS", 179)
    assert "with 1 unjudged counted as lost: INCONCLUSIVE, lower bound -4.1 pp against 4.0" in result.reason


@pytest.mark.parametrize(
    ("losses", "gains", "factor", "outcome_then", "counts"),
    [
        (4, 2, 1.0, "PASS", "4 losses, 2 gains of 180"),
        (4, 2, 1.5, "INCONCLUSIVE", "2.67 losses, 1.33 gains of 120"),
        (30, 0, 1.5, "FAIL", "20 losses, 0 gains of 120"),
    ],
)
def test_a_declared_design_effect_divides_the_counts(
    losses: int, gains: int, factor: float, outcome_then: str, counts: str
) -> None:
    policy = tools_policy(noninferiority_gate(design_effect=factor))
    result = only_gate(decided(policy, candidate_verdicts("tools", 180, losses, gains)))
    assert result.outcome == outcome_then
    assert counts in result.reason
    assert ("counts divided by the declared design effect 1.5" in result.reason) == (factor > 1)
    if result.losses_that_pass is not None and result.losses is not None:
        assert (result.losses <= result.losses_that_pass) == (outcome_then == "PASS")


def test_longer_answers_ring_the_alarm_only_when_they_are_longer_on_most_items() -> None:
    def longer(count: int) -> str:
        rows = candidate_verdicts("tools", 180)
        rows = [row.model_copy(update={"completion_tokens": 200 if n < count else 10}) for n, row in enumerate(rows)]
        return only_gate(decided(tools_policy(), rows)).reason

    assert "completions are 1161 % longer (on 110 items, shorter on 0; mid-p sign test" in longer(110)
    assert "longer" not in longer(2)
