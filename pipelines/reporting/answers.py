"""What changed between the baseline and each candidate, in counts: labels, format, noise and length."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.reporting.material import Material
from pipelines.reporting.text import inline, joined, percent, table
from registry.evidence import SuiteComparison, Transition
from registry.gate.outcome import printed
from registry.gate.power import PSIS

RIGHT = "ok"
MAX_TRANSITIONS = 40
MAX_NAMED = 20


def transitions(material: Material) -> str:
    """Per candidate and suite: how many items went from which label to which."""
    tables = [
        joined(f"### {inline(run)} on {suite}", _transition_table(result.transitions), _unjudged(result))
        for run, comparison in material.candidates.items()
        for suite, result in comparison.suites.items()
    ]
    return joined(
        "## Class transitions",
        "From the baseline's label to the candidate's, strict verdict, items judged on both sides; `ok` is right.",
        *tables,
    )


def noise(material: Material) -> str:
    """The baseline asked again in another order, beside the candidates."""
    rows = [
        [inline(run), suite, *noise_cells(result)]
        for run, comparison in {material.again.candidate: material.again, **material.candidates}.items()
        for suite, result in comparison.suites.items()
    ]
    lost = [
        f"- Lost on {suite}: {_named([loss.item_id for loss in result.new_losses])}"
        for suite, result in material.again.suites.items()
        if result.new_losses
    ]
    return joined(
        "## Noise floor",
        f"{inline(material.again.candidate)} is the baseline once more, asked in another order. What it loses and "
        f"gains is noise of the serving, not of quantization. The gates' power is computed for a discordance (psi) of "
        f"{PSIS[0]:.0%} to {PSIS[-1]:.0%}; a larger one makes them weaker.",
        table(["run", "suite", "n", "losses", "gains", "discordance (psi)", "identical answers"], rows),
        "\n".join(lost),
    )


def _transition_table(changes: list[Transition]) -> str:
    ordered = ranked(changes)
    rows = [
        [inline(change.baseline), inline(change.candidate), str(change.count), kind(change)]
        for change in ordered[:MAX_TRANSITIONS]
        if change.count
    ]
    rest = ordered[MAX_TRANSITIONS:]
    if rest:
        rows.append([f"{len(rest)} more kinds", "", str(sum(change.count for change in rest)), ""])
    return table(["baseline", "candidate", "items", "kind"], rows)


def _unjudged(result: SuiteComparison) -> str:
    return f"Not judged, and in no table: {_named(result.unjudged)}." if result.unjudged else ""


def ranked(changes: Sequence[Transition]) -> list[Transition]:
    """Losses first, then what was wrong on both sides, gains, and what was right on both; the frequent ones first."""
    kinds = {"loss": 0, "both wrong": 1, "gain": 2, "both right": 3}
    return sorted(changes, key=lambda change: (kinds[kind(change)], -change.count))


def kind(change: Transition) -> str:
    """`loss`, `gain`, `both right` or `both wrong`."""
    match change.baseline == RIGHT, change.candidate == RIGHT:
        case True, True:
            return "both right"
        case True, False:
            return "loss"
        case False, True:
            return "gain"
        case _:
            return "both wrong"


def noise_cells(result: SuiteComparison) -> list[str]:
    """Items, losses, gains, the share of items on which the two disagree, and the share of identical answers."""
    pairs = result.strict
    discordance = percent(pairs.losses + pairs.gains, pairs.n)
    counts = [printed(pairs.n), printed(pairs.losses), printed(pairs.gains)]
    return [*counts, discordance, percent(result.identical, pairs.n)]


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - MAX_NAMED} more" if len(ids) > MAX_NAMED else ""
    return ", ".join(inline(item_id) for item_id in ids[:MAX_NAMED]) + more
