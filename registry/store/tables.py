"""The tables of an evaluation: every answer of a run, every item across the runs, every loss of a candidate. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from judges.verdicts import Verdict
from registry.store.bundle import Answer, Bundle
from registry.store.content import Table
from registry.store.markup import one_line

CELL_LIMIT = 2000  # characters; an answer may be longer, and the page reads the whole table
MAX_FINDINGS = 5
Key = tuple[str, str]  # suite, answer id


def answers(rows: Iterable[Answer]) -> Table:
    """Every answer of one run: item, the raw text, label (`ok`: strictly right), what the judge found, suite.

    MLflow's comparison of tables lays runs side by side by the first column, and shows the second.
    """
    told = [
        [row.verdict.answer_id, _cell(row.raw), label(row.verdict), findings(row.verdict), row.verdict.suite]
        for row in rows
    ]
    return Table(["item", "answer", "label", "found", "suite"], told)


def labels(bundle: Bundle) -> Table:
    """Every item with its label in each run, baseline first: where a label changes, the runs disagree."""
    runs = _runs(bundle)
    found = {run: {_key(row): label(row.verdict) for row in bundle.answers[run]} for run in runs}
    keys = dict.fromkeys(key for run in runs for key in found[run])
    return Table(["suite", "item", *runs], [[*key, *(found[run].get(key, "") for run in runs)] for key in keys])


def losses(run: str, bundle: Bundle) -> Table:
    """The items that the baseline has right and `run` has wrong (strict), with both answers; must-pass items first."""
    baseline = bundle.decision.baseline
    columns = ["suite", "item", "label", "must pass", "found", baseline, run]
    before, after = _by_key(bundle.answers.get(baseline, [])), _by_key(bundle.answers.get(run, []))
    rows = []
    for suite, compared in bundle.comparisons[run].suites.items():
        for loss in sorted(compared.new_losses, key=lambda loss: not loss.must_pass):
            key = (suite, loss.item_id)
            told = [findings(after[key].verdict) if key in after else ""]
            told += [_cell(side[key].raw) if key in side else "" for side in (before, after)]
            rows.append([suite, loss.item_id, loss.label, "must pass" if loss.must_pass else "", *told])
    return Table(columns, rows)


def label(verdict: Verdict) -> str:
    """`ok` where strictly right, `unjudged`, else the primary label, marked where only lossless repairs were needed."""
    if verdict.status == "unjudged":
        return "unjudged"
    if verdict.strict_ok:
        return "ok"
    return f"{verdict.primary}{' (recovered)' if verdict.tolerant_ok else ''}"


def findings(verdict: Verdict) -> str:
    """What the judge found, with what was expected and what came; the first few."""
    told = []
    for error in verdict.errors[:MAX_FINDINGS]:
        seen = [f"{word} {text}" for word, text in (("expected", error.expected), ("got", error.got)) if text]
        told.append(f"{error.kind}{f' at {error.path}' if error.path else ''}{': ' if seen else ''}{', '.join(seen)}")
    if len(verdict.errors) > MAX_FINDINGS:
        told.append(f"and {len(verdict.errors) - MAX_FINDINGS} more")
    return _cell("; ".join(told))


def _runs(bundle: Bundle) -> list[str]:
    """The baseline, the candidates, then what is no variant (the baseline again)."""
    order = list(dict.fromkeys([bundle.decision.baseline, *bundle.decision.weights, *sorted(bundle.answers)]))
    return [run for run in order if run in bundle.answers]


def _key(row: Answer) -> Key:
    return row.verdict.suite, row.verdict.answer_id


def _by_key(rows: Iterable[Answer]) -> dict[Key, Answer]:
    return {_key(row): row for row in rows}


def _cell(text: str) -> str:
    flat = one_line(text)
    return flat if len(flat) <= CELL_LIMIT else f"{flat[:CELL_LIMIT]} … ({len(flat) - CELL_LIMIT} characters more)"
