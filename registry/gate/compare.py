"""Two runs of the same suites, item by item: the paired tables and what changed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evalsets.items import Suite
from evalsets.records import InputError, unique_by_id
from judges.verdicts import Verdict
from registry.evidence import (
    Comparison,
    EngineRecord,
    NewLoss,
    PairedTable,
    Sha256,
    SharedSettings,
    SuiteComparison,
    Transition,
)

RIGHT = "ok"
Pair = tuple[Verdict, Verdict]


@dataclass(frozen=True)
class JudgedRun:
    """One run of the suites: its name, its verdicts per suite in any order, and how it was served."""

    name: str
    verdicts: Mapping[Suite, Sequence[Verdict]]
    engine: EngineRecord


def compare(
    baseline: JudgedRun,
    candidate: JudgedRun,
    items: Mapping[Suite, Mapping[str, bool]],
    inputs: Mapping[str, Sha256],
) -> Comparison:
    """Pair two runs over `items` (per suite: id -> must_pass, in the suite's order).

    `inputs` (file -> SHA-256) is copied into the record. Raises `InputError` naming suite and ids when a run lacks an
    item, has one that is not asked, or has one twice, and when a verdict does not belong where it is.
    """
    for run in (baseline, candidate):
        if run.engine.run != run.name:
            raise InputError(
                f"engine record of run {run.engine.run!r} was given for run {run.name!r}; "
                f"run the generate stage for {run.name} again"
            )
    return Comparison(
        baseline=baseline.name,
        candidate=candidate.name,
        suites={suite: _suite(suite, baseline, candidate, wanted) for suite, wanted in items.items()},
        mismatches=_mismatches(baseline, candidate),
        inputs=dict(inputs),
    )


def _suite(suite: Suite, baseline: JudgedRun, candidate: JudgedRun, wanted: Mapping[str, bool]) -> SuiteComparison:
    before, after = _by_item(suite, baseline, wanted), _by_item(suite, candidate, wanted)
    pairs = {item_id: (before[item_id], after[item_id]) for item_id in wanted}
    judged = {item_id: pair for item_id, pair in pairs.items() if all(side.status == "judged" for side in pair)}
    strict = _table((old.strict_ok, new.strict_ok) for old, new in judged.values())
    unjudged = [item_id for item_id in pairs if item_id not in judged]
    changes = Counter((_label(old), _label(new)) for old, new in judged.values())
    return SuiteComparison(
        suite=suite,
        strict=strict,
        tolerant=_table((old.tolerant_ok, new.tolerant_ok) for old, new in judged.values()),
        pessimistic=count_as_losses(strict, len(unjudged)),
        unjudged=unjudged,
        identical=sum(old.raw_sha256 == new.raw_sha256 for old, new in judged.values()),
        baseline_tokens=sum(old.completion_tokens for old, _ in pairs.values()),
        candidate_tokens=sum(new.completion_tokens for _, new in pairs.values()),
        transitions=[Transition(baseline=a, candidate=b, count=count) for (a, b), count in sorted(changes.items())],
        new_losses=[
            NewLoss(item_id=item_id, label=_label(new), must_pass=wanted[item_id])
            for item_id, (old, new) in judged.items()
            if old.strict_ok and not new.strict_ok
        ],
        gained=[item_id for item_id, (old, new) in judged.items() if new.strict_ok and not old.strict_ok],
        must_pass=[item_id for item_id, must_pass in wanted.items() if must_pass],
    )


def count_as_losses(table: PairedTable, unjudged: int) -> PairedTable:
    """The table with `unjudged` further items, each a loss: the sensitivity line."""
    return table.model_copy(update={"n": table.n + unjudged, "losses": table.losses + unjudged})


def _table(outcomes: Iterable[tuple[bool, bool]]) -> PairedTable:
    counts = Counter(outcomes)
    return PairedTable(
        n=counts.total(),
        both_right=counts[True, True],
        losses=counts[True, False],
        gains=counts[False, True],
        both_wrong=counts[False, False],
    )


def _by_item(suite: Suite, run: JudgedRun, wanted: Mapping[str, bool]) -> dict[str, Verdict]:
    """The run's verdicts by item id, exactly those wanted."""
    where = f"verdicts of {run.name}, suite {suite}"
    if not wanted:
        raise InputError(f"suite {suite}: no items to compare; give the suite at least one active item")
    if suite not in run.verdicts:
        raise InputError(f"{where}: there are none; run the judge stage for {run.name}")
    found = unique_by_id(run.verdicts[suite], "item_id", where)
    missing = [item_id for item_id in wanted if item_id not in found]
    extra = [item_id for item_id in found if item_id not in wanted]
    if missing or extra:
        parts = [f"lacks {', '.join(missing)}"] if missing else []
        parts += [f"has {', '.join(extra)} that the suite does not"] if extra else []
        raise InputError(
            f"{where}: {' and '.join(parts)} ({len(found)} of {len(wanted)} items); "
            f"run generate and judge for {run.name} again on this suite"
        )
    for item_id, verdict in found.items():
        if verdict.suite != suite:
            raise InputError(f"{where}, {item_id}: belongs to suite {verdict.suite}; run judge for {run.name} again")
        if verdict.status == "judged" and not verdict.raw_sha256:
            raise InputError(f"{where}, {item_id}: no digest of the raw answer; run judge for {run.name} again")
    return found


def _label(verdict: Verdict) -> str:
    if verdict.strict_ok:
        return RIGHT
    if verdict.primary is None:
        raise InputError(f"verdict of {verdict.item_id}: wrong without a label of what is wrong; judge it again")
    return verdict.primary


def _mismatches(baseline: JudgedRun, candidate: JudgedRun) -> list[str]:
    """Names of the settings that must be equal and are not: shared ones, then what else decides a verdict."""
    old, new = baseline.engine, candidate.engine
    shared = [name for name in SharedSettings.model_fields if getattr(old.shared, name) != getattr(new.shared, name)]
    others = [name for name in ("profile", "dialect", "tool_parser") if getattr(old, name) != getattr(new, name)]
    versions = [
        {verdict.judge_version for verdicts in run.verdicts.values() for verdict in verdicts}
        for run in (baseline, candidate)
    ]
    return shared + others + (["judge_version"] if len(versions[0] | versions[1]) > 1 else [])
