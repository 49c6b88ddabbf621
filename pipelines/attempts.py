"""The ledger of attempts: `runs/<profile>/attempts.jsonl`, one line for every set of answers that was published.

It starts from the lines of `evidence/<profile>/`, so that tries of other machines count, and only ever grows.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from evalsets.records import digest, read_rows, write_rows
from pipelines.layout import WORK, Layout
from pipelines.params import PARAMS, read_settings
from quantize.alone import alone
from registry.evidence import Attempt, EngineRecord

EVIDENCE = Path("evidence")
JUDGE = Path("judges")


def read_attempts(layout: Layout) -> list[Attempt]:
    """The ledger of a profile's run, or the published one where nothing was generated here yet; empty without both."""
    published = EVIDENCE / layout.root.name / layout.attempts.name
    found = next((path for path in (layout.attempts, published) if path.is_file()), None)
    return [] if found is None else read_rows(found, Attempt)


def add_attempt(layout: Layout, record: EngineRecord) -> None:
    """Append a run's answers to the ledger, unless the very same line stands there already."""
    attempt = Attempt(
        profile=record.profile,
        run=record.run,
        variant=record.variant,
        weights_digest=record.weights_digest,
        generation_key=record.generation_key,
        suites=record.shared.suites,
        responses=record.responses,
        judge_sha256=judge_sha256(),
        policy_sha256=digest(read_settings(PARAMS).get("policy", {})),
    )
    with alone(WORK / f"{layout.root.name}-attempts.lock", "adding to the ledger of attempts"):
        known = read_attempts(layout)
        if attempt not in known or not layout.attempts.is_file():
            write_rows(layout.attempts, [*known, *([] if attempt in known else [attempt])])


def judge_sha256() -> str:
    """SHA-256 over the judge's source files, by name."""
    found = hashlib.sha256()
    for path in sorted(JUDGE.rglob("*.py")):
        found.update(f"{path.as_posix()}\0".encode() + path.read_bytes())
    return found.hexdigest()
