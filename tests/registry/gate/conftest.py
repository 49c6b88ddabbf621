"""The folder that the tests of the stages run in."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.records import write_rows
from tests.registry.gate.evidence_builders import (
    PROFILE,
    baseline_verdicts,
    candidate_verdicts,
)
from tests.registry.gate.gate_workplace import SIZES, write_manifest, write_profile, write_run, write_suites


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a profile, suites and three runs in which fp8 PASSes; the stages run in it."""
    monkeypatch.chdir(tmp_path)
    write_profile()
    write_suites()
    write_run("bf16", {suite: baseline_verdicts(suite, n) for suite, n in SIZES.items()})
    write_run("fp8", {suite: candidate_verdicts(suite, n, 1) for suite, n in SIZES.items()})
    write_run("baseline-again", {suite: candidate_verdicts(suite, n, same_text=True) for suite, n in SIZES.items()})
    for variant in ("bf16", "fp8"):
        write_manifest(variant)
    write_rows(tmp_path / "runs" / PROFILE / "attempts.jsonl", [])
    return tmp_path / "runs" / PROFILE
