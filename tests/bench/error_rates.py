"""The published error rates: `python -m tests.bench.error_rates` prints the tables of docs/gate.md and two more.

First what other rules do at the shipped gates, exactly: sums over the trinomial of independent items. Then, simulated
under fixed seeds, what several runs of an item and items in clusters do to the gate.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np
from tqdm import tqdm

from tests.registry.gate.other_rules import RULES
from tests.registry.gate.paired_grid import ErrorRates, error_rates, grid
from tests.registry.gate.simulated_runs import (
    KINDS,
    clustered,
    clustered_rate,
    estimated_deffs,
    losing,
    repeated_rate,
    repeated_sums,
    repeated_t_rate,
)

Gate = tuple[int, float]  # items, margin in percentage points
GATES: tuple[Gate, ...] = ((640, 2.5), (180, 5.0), (180, 4.0), (96, 12.0), (48, 16.0))
PSIS = (0.04, 0.08)
EQUAL_PSI = 0.04
OWN = "Tango score (this gate)"
COMPARISONS = 50_000
RUNS = (2, 3, 5)
DEFFS = (1.2, 1.5, 2.0)
SEED = 29

Rates = Mapping[Gate, Mapping[str, ErrorRates]]


def all_rates() -> Rates:
    """The exact rates of every rule at every gate, in a few seconds."""
    return {
        (n, margin_pp): error_rates(RULES, grid(n, margin_pp / 100), margin_pp / 100, PSIS, EQUAL_PSI)
        for n, margin_pp in GATES
    }


def false_pass_table(rates: Rates) -> str:
    """How often each rule passes a true loss of exactly the margin, in percent: at worst, and at psi that allow it."""
    header = ["rule"]
    for gate, rules in rates.items():
        psis = [f"psi {100 * psi:g} %" for psi in rules[OWN].at_psi]
        header += [f"{_named(gate)}: worst", *psis]
    rows = [
        [rule, *(_percent(value) for rules in rates.values() for value in _false_passes(rules[rule]))] for rule in RULES
    ]
    return _markdown(header, rows)


def equal_table(rates: Rates) -> str:
    """How often each rule says PASS and FAIL of a candidate equal to the baseline, in percent."""
    rows = [
        [
            rule,
            *(f"{_percent(found[rule].equal_pass)} / {_percent(found[rule].equal_fail)}" for found in rates.values()),
        ]
        for rule in RULES
    ]
    return _markdown(["rule", *map(_named, rates)], rows)


def false_fail_table(rates: Rates) -> str:
    """How often this gate FAILs a true loss a hair below the margin, in percent, at the worst psi."""
    return _markdown(
        ["rule", *map(_named, rates)], [[OWN, *(_percent(rules[OWN].false_fail) for rules in rates.values())]]
    )


def repeats_table() -> str:
    """Simulated: the worst false PASS over psi with k runs per item, and the power that the runs buy."""
    rows = []
    for n, margin_pp in tqdm(GATES, desc="runs", disable=None):
        margin = margin_pp / 100
        rng = np.random.default_rng(SEED)
        psis = (margin, margin + 0.02, margin + 0.06, 0.25)
        for runs in RUNS:
            own: dict[str, list[float]] = {kind: [] for kind in KINDS}
            means = []
            for kind in KINDS:
                for psi in psis:
                    truth = losing(n, margin, psi)
                    sums = repeated_sums(truth, runs, kind, COMPARISONS, rng)
                    own[kind].append(repeated_rate(truth, margin, sums))
                    means.append(repeated_t_rate(truth, margin, sums))
            equal = losing(n, 0.0, EQUAL_PSI)
            power = [
                repeated_rate(equal, margin, repeated_sums(equal, count, "all by chance", COMPARISONS, rng))
                for count in (1, runs)
            ]
            cells = [*(max(found) for found in own.values()), max(means), *power]
            rows.append([_named((n, margin_pp)), str(runs), *map(_percent, cells)])
    return _markdown(["gate", "runs", *KINDS, "t on the items' means", "equal: PASS, 1 run", "all runs"], rows)


def clusters_table() -> str:
    """Simulated: the worst false PASS over psi with clustered items, by what counts and n are divided by."""
    rows = []
    for n, margin_pp in tqdm(GATES, desc="clusters", disable=None):
        margin = margin_pp / 100
        rng = np.random.default_rng(SEED)
        for deff in DEFFS:
            found = []
            for psi in (margin, margin + 0.02, margin + 0.06, 0.25):
                truth = losing(n, margin, psi)
                drawn = clustered(truth, deff, COMPARISONS // 5, rng)
                by = (1.0, deff, estimated_deffs(drawn))
                found.append([clustered_rate(truth, margin, drawn, divisor) for divisor in by])
            worst = [max(column) for column in zip(*found, strict=True)]
            rows.append([_named((n, margin_pp)), f"{deff:g}", *map(_percent, worst)])
    return _markdown(["gate", "DEFF", "by nothing", "by the true DEFF", "by the same run's estimate"], rows)


def _false_passes(rates: ErrorRates) -> list[float]:
    return [rates.false_pass, *rates.at_psi.values()]


def _named(gate: Gate) -> str:
    return f"{gate[0]} items, {gate[1]:g} pp"


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f}"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"|{'|'.join(line)}|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Print every table, return 0."""
    rates = all_rates()
    print(f"PASS at a true loss of exactly the margin, in percent, exact:\n\n{false_pass_table(rates)}\n")
    print(f"PASS / FAIL of an equal candidate at psi 4 %, in percent, exact:\n\n{equal_table(rates)}\n")
    print(f"FAIL at a true loss a hair below the margin, in percent, exact, worst psi:\n\n{false_fail_table(rates)}\n")
    print(
        f"PASS at a true loss of the margin, in percent, {COMPARISONS:,} comparisons, seed {SEED}: the worst psi, by "
        f"what is drawn anew in each run; last the power at psi 4 %, all by chance:\n\n{repeats_table()}\n"
    )
    print(
        f"PASS at a true loss of the margin, in percent, {COMPARISONS // 5:,} comparisons, seed {SEED}: the worst psi "
        f"with clusters of 4 to 9 items, by what counts and n are divided by:\n\n{clusters_table()}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
