"""Which attempt the next run would be, by the ledger. Pure but for the digest of the suite's file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from evalsets.items import Item, Suite
from evalsets.records import digest, file_sha256
from pipelines.params import SuiteSettings
from pipelines.planning.records import AttemptNumber
from registry.evidence import Attempt, SuiteDigest
from registry.gate.policy import Policy


def suite_digest(settings: SuiteSettings, items: Sequence[Item]) -> SuiteDigest:
    """The digest under which answers to these items are entered into the ledger."""
    path = Path(settings.path)
    return SuiteDigest(
        file_sha256=file_sha256(path),
        items=len(items),
        ids_sha256=digest([item.id for item in items]),
        split=items[0].split,
        runs=settings.runs,
    )


def attempt_numbers(
    policy: Policy, ledger: Sequence[Attempt], asked: Mapping[Suite, SuiteDigest], answered: Collection[str]
) -> list[AttemptNumber]:
    """For each candidate and each suite of its gates, the attempt that the next answers would be, at most.

    Counted as `registry.gate.attempts` does. The runs of `answered` are current: nothing is asked again. Other runs
    may give the same answers as before, which are the same attempt.
    """
    wanted = {
        (candidate, gate.suite): None
        for scene in policy.scenes.values()
        for candidate in scene.candidates
        for gate in scene.gates
        if candidate != policy.baseline
    }
    return [
        AttemptNumber(
            run=run,
            suite=suite,
            number=max(1, _tried(ledger, run, suite, asked[suite]) + (run not in answered)),
            declared=policy.max_attempts,
        )
        for run, suite in wanted
    ]


def _tried(ledger: Sequence[Attempt], run: str, suite: Suite, asked: SuiteDigest) -> int:
    return len(
        {
            (attempt.weights_digest, attempt.responses[suite])
            for attempt in ledger
            if attempt.run == run and attempt.suites.get(suite) == asked and suite in attempt.responses
        }
    )
