"""What a policy can decide: the text, the notice of an undecidable gate, and the gates that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multinomial

from evalsets.records import InputError
from registry.gate.explain import decidable, explain, refuse_unsound
from registry.gate.power import critical_losses, items_needed, power
from tests.registry.gate.evidence_builders import noninferiority_gate, tools_policy

RULE = {"test": "new_losses", "suite": "tools", "families": ["numbers", "json_syntax"], "max_new_losses": 0}


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_text_of_a_decidable_gate() -> None:
    text = words(explain(tools_policy(noninferiority_gate(2.5, suite="qa")), {"qa": 640}))
    assert "scene tools: candidates fp8, bf16; required: fp8" in text
    assert "noninferiority on qa, strict: 640 items, margin 2.5 pp, alpha 0.05" in text
    assert "gains 0 1 2 4 6 8 12 most losses that PASS 9 10 10 12 13 15 18" in text
    assert "disagreement psi 2 % 4 % 6 % 8 % power, equal candidate 0.991 0.915 0.808 0.712" in text
    assert "worst false PASS at a true loss of 2.5 pp: 5.05 % (psi 12.6 %)" in text
    assert "decidable: power 0.915 at psi 4 %, 0.8 asked for" in text
    assert "Calculated, not measured" in text


def test_the_notice_of_an_undecidable_gate_says_how_many_items() -> None:
    text = explain(tools_policy(), {"tools": 180})
    assert "UNDECIDABLE: power 0.771 at psi 4 %, 0.8 asked for; 198 items would make it decidable, not 180" in text


def test_the_chance_to_meet_a_count_rule() -> None:
    text = words(explain(tools_policy(RULE), {"tools": 180}))
    assert (
        "new_losses on tools: at most 0 of 180 in numbers, json_syntax when the baseline asked again has none" in text
    )
    assert "true rate of such losses 0.1 % 0.3 % 1 % 2 % probability rule is met 0.835 0.582 0.164 0.026" in text


def test_a_count_that_noise_cannot_explain_is_said_to_cap_the_rule() -> None:
    text = explain(tools_policy(RULE | {"max_new_losses": 9}), {"tools": 180})
    assert "at most 4 of 180" in text
    assert "max_new_losses is 9, but 5 beside none is more than noise at level 0.05" in text


def test_rules_together_are_weaker_than_each_alone() -> None:
    text = words(explain(tools_policy(noninferiority_gate(4.0), RULE | {"max_new_losses": 4}), {"tools": 180}))
    assert "power, equal candidate 0.907 0.771 0.654 0.564" in text
    assert "all counting rules together, equal candidate, were every loss one of the rules' families" in text
    n = 180
    most = np.minimum(critical_losses(n, 0.04, 0.05, np.arange(n + 1)), 4)
    both = []
    for psi in (0.02, 0.04, 0.06, 0.08):
        tables = [[losses, gains, n - losses - gains] for gains in range(41) for losses in range(most[gains] + 1)]
        both.append(float(multinomial.pmf(tables, n, [psi / 2, psi / 2, 1 - psi]).sum()))
    assert f"disagreement psi 2 % 4 % 6 % 8 % power, equal candidate {' '.join(f'{p:.3f}' for p in both)}" in text


def test_gates_that_need_no_statistics_are_named() -> None:
    floor = {"test": "baseline_floor", "suite": "tools", "min_accuracy": 0.5}
    text = explain(tools_policy(floor, {"test": "must_pass", "suite": "tools"}), {"tools": 180})
    assert "baseline_floor on tools, strict: at least 50 % of 180 right" in text
    assert "must_pass on tools: no must-pass item newly lost" in text


def test_a_scene_of_the_baseline_alone_has_nothing_to_decide() -> None:
    policy = tools_policy(noninferiority_gate(0.1), scene={"candidates": ["bf16"], "require": "none"})
    assert "only the baseline may serve it: nothing to decide" in explain(policy, {"tools": 180})
    assert decidable(policy, {"tools": 180})


@pytest.mark.parametrize("margin_pp", [3.0, 4.0, 5.0])
def test_decidable_is_80_percent_power_at_psi_4_percent(margin_pp: float) -> None:
    policy = tools_policy(noninferiority_gate(margin_pp))
    assert decidable(policy, {"tools": 180}) == (power(180, margin_pp / 100, 0.05, 0.04) >= 0.8)
    enough = items_needed(margin_pp / 100, 0.05)
    assert decidable(policy, {"tools": enough})
    assert not decidable(policy, {"tools": enough - 1})


@pytest.mark.parametrize(
    ("n", "margin_pp", "refused"),
    [(180, 1.5, True), (180, 2.5, True), (640, 3.0, False), (180, 4.0, False), (96, 12.0, False), (48, 16.0, False)],
)
def test_a_gate_that_passes_too_many_true_losses_is_refused(n: int, margin_pp: float, refused: bool) -> None:
    policy = tools_policy(noninferiority_gate(margin_pp))
    if not refused:
        refuse_unsound(policy, {"tools": n})
        return
    for entry in (refuse_unsound, explain):
        with pytest.raises(InputError, match=f"policy.scenes.tools.gates.0: {margin_pp:g} pp on {n} items passes"):
            entry(policy, {"tools": n})


def test_a_gate_on_a_suite_without_items_is_refused() -> None:
    for entry in (explain, decidable):
        with pytest.raises(InputError, match=r"policy.scenes.tools.gates.0.suite: 'tools' has no items; allowed: qa"):
            entry(tools_policy(), {"qa": 640})
