"""The published error rates: of every shipped gate through the code that decides, and of the rules beside it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from evalsets.load import load_suite
from pipelines.profiles import load_profile
from registry.gate.mcnemar import mid_p
from registry.gate.outcome import outcome
from registry.gate.policy import NonInferiority
from registry.gate.power import critical_losses, false_pass, pass_probability
from tests.bench.error_rates import GATES, Rates, all_rates, equal_table, false_fail_table, false_pass_table
from tests.registry.gate.evidence_builders import table
from tests.registry.gate.other_rules import RULES, bootstrap, bootstrap_tail, newcombe_lower
from tests.registry.gate.paired_grid import Array, Grid, grid, staircase

ROOT = Path(__file__).parents[3]
DOC = (ROOT / "docs" / "gate.md").read_text("utf-8")
GAINS = [0, 1, 2, 4, 6, 8, 12]
MOST_FALSE_PASS = 0.052


def shipped_gates() -> list[tuple[str, int, NonInferiority]]:
    """Profile, items and gate, of every non-inferiority gate in profiles/."""
    found = []
    for path in sorted((ROOT / "profiles").glob("*.yaml")):
        profile = load_profile(path)
        for scene in profile.policy.scenes.values():
            for gate in scene.gates:
                if isinstance(gate, NonInferiority):
                    suite = profile.suites[gate.suite]
                    items = load_suite(ROOT / suite.path, gate.suite, suite.take)
                    found.append((profile.profile, len(items), gate))
    return found


SHIPPED = shipped_gates()


@pytest.fixture(scope="module")
def rates() -> Rates:
    return all_rates()


def decided_grid(tables: Grid, gate: NonInferiority) -> Array:
    """1 where the code that decides says PASS, over the grid."""

    def passes(losses: int, gains: int) -> bool:
        return losses + gains <= tables.n and outcome(table(losses, gains, tables.n), gate) == "PASS"

    return staircase(tables.losses.shape, passes)


def test_the_profiles_have_gates_for_both_suites() -> None:
    assert {profile for profile, _, _ in SHIPPED} == {"a100", "local", "local-full"}
    assert {(n, gate.margin_pp) for _, n, gate in SHIPPED} >= {(640, 2.5), (180, 5.0), (96, 12.0), (48, 16.0)}


@pytest.mark.parametrize(("profile", "n", "gate"), SHIPPED, ids=lambda value: str(getattr(value, "suite", value)))
def test_every_shipped_gate_keeps_its_error(profile: str, n: int, gate: NonInferiority) -> None:
    margin = gate.margin_pp / 100
    worst = false_pass(n, margin, gate.alpha)
    assert 0.045 < worst.rate <= MOST_FALSE_PASS, profile
    # The same by a sum over all tables, decided one by one.
    tables = grid(n, margin)
    passed = decided_grid(tables, gate)
    critical = critical_losses(n, margin, gate.alpha, np.arange(n + 1))
    for psi in [worst.psi, *np.linspace(margin, 0.25, 40).tolist()]:
        loss_rate, gain_rate = (psi + margin) / 2, (psi - margin) / 2
        summed = float(np.sum(tables.probability(loss_rate, gain_rate) * passed))
        assert summed == pytest.approx(pass_probability(n, critical, loss_rate, gain_rate), abs=1e-10)
        assert summed <= worst.rate + 1e-6


CRITICAL_ROWS = re.findall(r"^\| (\d+) items, ([\d.]+) pp \|(.*)\|$", DOC, re.MULTILINE)


def test_the_document_has_a_row_for_every_gate_compared() -> None:
    assert {(int(n), float(margin_pp)) for n, margin_pp, _ in CRITICAL_ROWS} >= set(GATES)


@pytest.mark.parametrize(("n", "margin_pp", "cells"), CRITICAL_ROWS)
def test_the_documents_critical_counts_are_where_the_verdict_turns(n: str, margin_pp: str, cells: str) -> None:
    gate = NonInferiority(test="noninferiority", suite="tools", margin_pp=float(margin_pp))
    for gains, cell in zip(GAINS, cells.split("|"), strict=False):
        verdicts = [outcome(table(losses, gains, int(n)), gate) for losses in range(int(cell) + 2)]
        assert verdicts[:-1] == ["PASS"] * (int(cell) + 1)
        assert verdicts[-1] == "INCONCLUSIVE"


def test_the_document_shows_the_tables_that_the_command_prints(rates: Rates) -> None:
    for text in (false_pass_table(rates), equal_table(rates), false_fail_table(rates)):
        assert f"\n\n{text}\n\n" in DOC


def test_the_documents_words_quote_the_tables(rates: Rates) -> None:
    section = DOC.partition("## What other rules do")[2].partition("\n## ")[0]
    words = "\n".join(line for line in section.splitlines() if not line.startswith("|"))
    quoted = re.findall(r"\d+\.\d", words)
    shown = "\n".join([false_pass_table(rates), equal_table(rates), false_fail_table(rates)])
    assert quoted
    assert set(quoted) <= set(re.findall(r"\d+\.\d", shown))


def test_the_gates_own_rates_are_those_of_its_power_calculation(rates: Rates) -> None:
    for (n, margin_pp), rules in rates.items():
        own = rules["Tango score (this gate)"]
        assert own.false_pass == pytest.approx(false_pass(n, margin_pp / 100, 0.05).rate, abs=1e-6)


@pytest.mark.parametrize(("gate", "false_fail"), [((640, 2.5), 0.056), ((180, 4.0), 0.061)])
def test_the_gates_false_fail(rates: Rates, gate: tuple[int, float], false_fail: float) -> None:
    assert rates[gate]["Tango score (this gate)"].false_fail == pytest.approx(false_fail, abs=5e-4)


def test_only_the_score_test_keeps_its_level_at_every_gate_and_suite(rates: Rates) -> None:
    worst = {rule: max(rules[rule].false_pass for rules in rates.values()) for rule in RULES}
    own = worst.pop("Tango score (this gate)")
    easy = worst.pop("Newcombe hybrid score, 95 % right")
    assert max(own, easy) <= MOST_FALSE_PASS < 0.07 < min(worst.values())


# both right, losses, gains, both wrong; published 95 % limits of (losses - gains) / n
NEWCOMBE = [
    ((36, 12, 2, 0), 0.0569, 0.3404),
    ((59, 6, 16, 80), -0.1186, -0.0046),
    ((14, 5, 0, 22), 0.0115, 0.2265),
]


@pytest.mark.parametrize(("cells", "low", "high"), NEWCOMBE)
def test_newcombes_published_intervals(cells: tuple[int, int, int, int], low: float, high: float) -> None:
    right, losses, gains = (np.array([float(cell)]) for cell in cells[:3])
    n = sum(cells)
    assert newcombe_lower(gains, losses, right, n, 0.025)[0] == pytest.approx(low, abs=5e-5)
    assert -newcombe_lower(losses, gains, right, n, 0.025)[0] == pytest.approx(high, abs=5e-5)


def test_newcombes_rule_is_the_sum_over_the_items_right_on_both_sides() -> None:
    n, margin, losses, gains = 48, 0.16, 5, 2
    passed, failed = RULES["Newcombe hybrid score, 80 % right"](grid(n, margin), margin)
    rng = np.random.default_rng(31)
    right = rng.binomial(n - losses - gains, 0.8, size=20_000).astype(float)
    lost, gained = np.full(right.shape, float(losses)), np.full(right.shape, float(gains))
    drawn = float(np.mean(newcombe_lower(lost, gained, right, n, 0.05) > -margin))
    assert 0.02 < drawn < 0.98
    assert passed[losses, gains] == pytest.approx(drawn, abs=0.015)
    assert failed[losses, gains] == 0


@pytest.mark.parametrize(("losses", "gains"), [(1, 0), (2, 0), (3, 1), (7, 5), (9, 2)])
def test_the_bootstraps_limit_is_what_many_resamples_give(losses: int, gains: int) -> None:
    n, margin = 180, 0.04
    resampled = np.random.default_rng(37).multinomial(n, np.array([losses, gains, n - losses - gains]) / n, 40_000)
    differences = (resampled[:, 1] - resampled[:, 0]) / n
    assert bootstrap_tail(losses, gains, n, -margin) == pytest.approx(np.mean(differences <= -margin), abs=0.006)
    lower = float(np.percentile(differences, 5, method="inverted_cdf"))
    assert bootstrap(losses, gains, n, -margin) == (lower > -margin)


def test_wald_and_t_by_hand() -> None:
    tables = grid(180, 0.04)
    for rule, quantile in [("Wald", 1.6448536), ("paired t on the items", 1.6534105)]:
        passed, failed = RULES[rule](tables, 0.04)
        for losses, gains in [(0, 0), (4, 0), (6, 2), (20, 6), (14, 12)]:
            differences = np.array([1.0] * gains + [-1.0] * losses + [0.0] * (180 - losses - gains))
            spread = float(np.std(differences, ddof=0 if rule == "Wald" else 1)) / 180**0.5
            mean = float(np.mean(differences))
            assert passed[losses, gains] == (mean - quantile * spread > -0.04)
            assert failed[losses, gains] == (mean + quantile * spread < -0.04)


def test_the_point_rule_and_the_alarm_by_hand() -> None:
    tables = grid(180, 0.05)
    passed, failed = RULES["drop seen is at most the margin"](tables, 0.05)
    assert [passed[9, 0], passed[10, 0], passed[10, 1], failed[10, 0]] == [1, 0, 1, 1]
    passed, failed = RULES["not significantly worse (mid-p McNemar)"](tables, 0.05)
    for losses in range(12):
        for gains in range(12):
            worse = losses > gains and mid_p(losses, gains) <= 0.05
            assert (passed[losses, gains], failed[losses, gains]) == (not worse, worse)


def test_the_grid_holds_all_that_is_likely() -> None:
    for n, margin_pp in GATES:
        margin = margin_pp / 100
        for psi in (margin, 0.25):
            chance = grid(n, margin).probability((psi + margin) / 2, (psi - margin) / 2)
            assert float(np.sum(chance)) == pytest.approx(1.0, abs=1e-11)
