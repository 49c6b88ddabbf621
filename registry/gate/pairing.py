"""The verdicts of two runs of a suite, matched answer by answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsets.items import Suite
from evalsets.records import InputError, unique_by_id
from evalsets.responses import answer_id
from judges.verdicts import Verdict
from registry.evidence import EngineRecord

RIGHT = "ok"


@dataclass(frozen=True)
class JudgedRun:
    """One run of the suites: its name, its verdicts per suite in any order, and how it was served."""

    name: str
    verdicts: Mapping[Suite, Sequence[Verdict]]
    engine: EngineRecord


@dataclass(frozen=True)
class Pairs:
    """An item's verdicts on both sides, one of each per pass, in the order of the passes."""

    old: list[Verdict]
    new: list[Verdict]

    @property
    def judged(self) -> bool:
        """Whether every answer of both sides was judged."""
        return all(verdict.status == "judged" for verdict in [*self.old, *self.new])

    def drop(self, verdict: str) -> float:
        """The baseline's share of right answers less the candidate's, -1 to 1; `verdict` is strict or tolerant."""
        return (right(self.old, verdict) - right(self.new, verdict)) / len(self.old)


def paired(suite: Suite, baseline: JudgedRun, candidate: JudgedRun, item_ids: Sequence[str]) -> dict[str, Pairs]:
    """Both runs' verdicts by item, in the order of `item_ids`.

    Raises `InputError` naming suite and answers when a run lacks one, has one that was not asked, or has one twice, and
    when a verdict does not belong where it is. How many passes there are is what the baseline has.
    """
    if not item_ids:
        raise InputError(f"suite {suite}: no items to compare; give the suite at least one active item")
    passes = 1 + max((verdict.run for verdict in baseline.verdicts.get(suite, [])), default=0)
    before = _by_answer(suite, baseline, item_ids, passes)
    after = _by_answer(suite, candidate, item_ids, passes)
    return {
        item_id: Pairs(
            [before[answer_id(item_id, run)] for run in range(passes)],
            [after[answer_id(item_id, run)] for run in range(passes)],
        )
        for item_id in item_ids
    }


def right(verdicts: Sequence[Verdict], verdict: str) -> int:
    """How many of the answers are right under the verdict, `strict` or `tolerant`."""
    return sum(found.strict_ok if verdict == "strict" else found.tolerant_ok for found in verdicts)


def label(verdict: Verdict) -> str:
    """`ok`, or what is wrong. Raises `InputError` for a wrong answer without a label."""
    if verdict.strict_ok:
        return RIGHT
    if verdict.primary is None:
        raise InputError(f"verdict of {verdict.item_id}: wrong without a label of what is wrong; judge it again")
    return verdict.primary


def _by_answer(suite: Suite, run: JudgedRun, item_ids: Sequence[str], passes: int) -> dict[str, Verdict]:
    """The run's verdicts by answer, exactly those wanted."""
    where = f"verdicts of {run.name}, suite {suite}"
    if suite not in run.verdicts:
        raise InputError(f"{where}: there are none; run the judge stage for {run.name}")
    found = unique_by_id(run.verdicts[suite], "answer_id", where)
    wanted = dict.fromkeys(answer_id(item_id, n) for n in range(passes) for item_id in item_ids)
    missing = [answer for answer in wanted if answer not in found]
    extra = [answer for answer in found if answer not in wanted]
    if missing or extra:
        parts = [f"lacks {', '.join(missing)}"] if missing else []
        parts += [f"has {', '.join(extra)} that the suite does not"] if extra else []
        raise InputError(
            f"{where}: {' and '.join(parts)} ({len(found)} of {len(wanted)} items); "
            f"run generate and judge for {run.name} again on this suite"
        )
    for name, verdict in found.items():
        if verdict.suite != suite:
            raise InputError(f"{where}, {name}: belongs to suite {verdict.suite}; run judge for {run.name} again")
        if verdict.status == "judged" and not verdict.raw_sha256:
            raise InputError(f"{where}, {name}: no digest of the raw answer; run judge for {run.name} again")
    return found
