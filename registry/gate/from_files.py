"""Comparing and deciding from the files of a run: `runs/<profile>/` and published evidence are laid out alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evalsets.items import Suite
from evalsets.records import file_sha256, read_record, read_rows
from judges.verdicts import Verdict
from quantize.manifest import load_manifest
from registry.evidence import Attempt, Comparison, EngineRecord
from registry.gate.compare import Asked, compare
from registry.gate.decide import Evidence, check_weights, decide
from registry.gate.decision import Decision
from registry.gate.explain import refuse_unsound
from registry.gate.pairing import JudgedRun
from registry.gate.policy import Policy

AGAIN = "baseline-again"
ATTEMPTS = "attempts.jsonl"


def compare_files(root: Path, baseline: str, run: str, asked: Mapping[Suite, Mapping[str, Asked]]) -> Comparison:
    """`run` against `baseline` from the verdicts and engine records under `root`. Raises `InputError` as `compare`."""
    inputs = [_engine(name) for name in (baseline, run)] + [
        _verdicts(name, suite) for name in (baseline, run) for suite in asked
    ]
    old, new = (_judged(root, name, list(asked)) for name in (baseline, run))
    return compare(old, new, asked, _digests(root, inputs))


def decide_files(root: Path, policy: Policy, variants: Sequence[str], suite_sizes: Mapping[Suite, int]) -> Decision:
    """The decision on profile `root.name` from comparisons, engine records, manifests and the ledger under `root`.

    Raises `InputError` where one is missing or broken, and for a policy that is unsound on suites of these sizes.
    """
    refuse_unsound(policy, suite_sizes)
    runs = [*variants, AGAIN]
    compared = [run for run in runs if run != policy.baseline]
    comparisons = {run: read_record(root / _comparison(run), Comparison) for run in compared}
    engines = {run: read_record(root / _engine(run), EngineRecord) for run in runs}
    check_weights(engines, {variant: load_manifest(root / _manifest(variant)) for variant in variants})
    attempts = read_rows(root / ATTEMPTS, Attempt)
    files = [ATTEMPTS, *map(_comparison, compared), *map(_engine, runs), *map(_manifest, variants)]
    evidence = Evidence(
        comparisons={run: comparisons[run] for run in compared if run != AGAIN},
        again=comparisons[AGAIN],
        engines=engines,
        inputs=_digests(root, files),
        attempts=attempts,
    )
    return decide(root.name, policy, evidence)


def _judged(root: Path, run: str, suites: Sequence[Suite]) -> JudgedRun:
    verdicts = {suite: read_rows(root / _verdicts(run, suite), Verdict) for suite in suites}
    return JudgedRun(run, verdicts, read_record(root / _engine(run), EngineRecord))


def _digests(root: Path, files: Sequence[str]) -> dict[str, str]:
    return {file: file_sha256(root / file) for file in files}


def _verdicts(run: str, suite: Suite) -> str:
    return f"verdicts/{run}/{suite}.jsonl"


def _engine(run: str) -> str:
    return f"engine/{run}.json"


def _comparison(run: str) -> str:
    return f"comparisons/{run}.json"


def _manifest(variant: str) -> str:
    return f"checkpoints/{variant}/manifest.json"
