"""Two runs of the same suites, item by item: the paired tables and what changed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evalsets.items import Item, Suite
from evalsets.records import InputError
from registry.evidence import (
    Comparison,
    NewLoss,
    PairedTable,
    Sha256,
    SharedSettings,
    SuiteComparison,
    Transition,
)
from registry.gate.clusters import design_effect
from registry.gate.pairing import JudgedRun, Pairs, label, paired, right
from registry.gate.repeats import counts


@dataclass(frozen=True)
class Asked:
    """What a comparison needs to know of an item."""

    must_pass: bool
    cluster: str

    @classmethod
    def of(cls, items: Sequence[Item]) -> dict[str, Asked]:
        """By id, in the given order."""
        return {item.id: cls(item.must_pass, item.cluster) for item in items}


def compare(
    baseline: JudgedRun,
    candidate: JudgedRun,
    items: Mapping[Suite, Mapping[str, Asked]],
    inputs: Mapping[str, Sha256],
) -> Comparison:
    """Pair two runs over `items` (per suite, by id, in the suite's order).

    `inputs` (file -> SHA-256) is copied into the record. Raises `InputError` as `pairing.paired` does, and when an
    engine record is another run's.
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
        suites={
            suite: _suite(suite, paired(suite, baseline, candidate, list(asked)), asked)
            for suite, asked in items.items()
        },
        mismatches=_mismatches(baseline, candidate),
        inputs=dict(inputs),
    )


def count_as_losses(table: PairedTable, unjudged: int) -> PairedTable:
    """The table with `unjudged` further items, each a loss: the sensitivity line."""
    return table.model_copy(update={"n": table.n + unjudged, "losses": table.losses + unjudged})


def _suite(suite: Suite, pairs: Mapping[str, Pairs], asked: Mapping[str, Asked]) -> SuiteComparison:
    judged = {item_id: pair for item_id, pair in pairs.items() if pair.judged}
    strict = _table(list(judged.values()), "strict")
    unjudged = [item_id for item_id in pairs if item_id not in judged]
    answers = [(old, new) for pair in judged.values() for old, new in zip(pair.old, pair.new, strict=True)]
    changes = Counter((label(old), label(new)) for old, new in answers)
    drops: dict[str, list[float]] = {}
    for item_id, pair in judged.items():
        drops.setdefault(asked[item_id].cluster, []).append(pair.drop("strict"))
    lengths = [_tokens(pair) for pair in pairs.values()]
    return SuiteComparison(
        suite=suite,
        runs=max(len(pair.old) for pair in pairs.values()),
        design_effect=design_effect(drops),
        strict=strict,
        tolerant=_table(list(judged.values()), "tolerant"),
        pessimistic=count_as_losses(strict, len(unjudged)),
        unjudged=unjudged,
        identical=sum(
            all(old.raw_sha256 == new.raw_sha256 for old, new in zip(pair.old, pair.new, strict=True))
            for pair in judged.values()
        ),
        baseline_tokens=sum(old for old, _ in lengths),
        candidate_tokens=sum(new for _, new in lengths),
        longer=sum(new > old for old, new in lengths),
        shorter=sum(new < old for old, new in lengths),
        transitions=[Transition(baseline=a, candidate=b, count=count) for (a, b), count in sorted(changes.items())],
        new_losses=_new_losses(judged, asked),
        gained=[item_id for item_id, pair in judged.items() if _mostly_right(pair, "new") > _mostly_right(pair, "old")],
        must_pass=[item_id for item_id, item in asked.items() if item.must_pass],
    )


def _table(pairs: Sequence[Pairs], verdict: Literal["strict", "tolerant"]) -> PairedTable:
    losses, gains = counts([pair.drop(verdict) for pair in pairs])
    baseline_right = sum(right(pair.old, verdict) / len(pair.old) for pair in pairs)
    both_right = baseline_right - losses
    return PairedTable(
        n=len(pairs),
        both_right=_whole(both_right),
        losses=_whole(losses),
        gains=_whole(gains),
        both_wrong=_whole(len(pairs) - both_right - losses - gains),
    )


def _whole(count: float) -> int | float:
    """A count as an int where it is one: sums of whole differences are exact in floats."""
    return int(count) if count == int(count) else count


def _tokens(pair: Pairs) -> tuple[int, int]:
    old = sum(verdict.completion_tokens for verdict in pair.old)
    return old, sum(verdict.completion_tokens for verdict in pair.new)


def _new_losses(judged: Mapping[str, Pairs], asked: Mapping[str, Asked]) -> list[NewLoss]:
    found = []
    for item_id, pair in judged.items():
        must_pass = asked[item_id].must_pass
        if must_pass:
            lost = right(pair.old, "strict") == len(pair.old) and right(pair.new, "strict") < len(pair.new)
        else:
            lost = _mostly_right(pair, "old") > _mostly_right(pair, "new")
        if lost:
            wrong = Counter(label(verdict) for verdict in pair.new if not verdict.strict_ok)
            found.append(NewLoss(item_id=item_id, label=wrong.most_common(1)[0][0], must_pass=must_pass))
    return found


def _mostly_right(pair: Pairs, side: Literal["old", "new"]) -> bool:
    verdicts = pair.old if side == "old" else pair.new
    return 2 * right(verdicts, "strict") > len(verdicts)


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
