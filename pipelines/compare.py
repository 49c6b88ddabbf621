"""Stage compare: one run against the baseline run, item by item."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evalsets.load import load_suite
from evalsets.records import InputError, file_sha256, read_record, read_rows, write_record
from judges.verdicts import Verdict
from pipelines.layout import Layout
from pipelines.params import PARAMS
from pipelines.profiles import Profile, load_profile
from pipelines.stage import run_stage
from registry.evidence import EngineRecord
from registry.gate.compare import Asked
from registry.gate.compare import compare as compare_runs
from registry.gate.pairing import JudgedRun


def compare(profile: Profile, run: str) -> None:
    """Write `runs/<profile>/comparisons/<run>.json`."""
    baseline = profile.policy.baseline
    if run not in profile.compared:
        raise InputError(f"--run {run}: not compared with {baseline}; allowed: {', '.join(profile.compared)}")
    layout = Layout.of(profile.profile)
    files = [path for name in (baseline, run) for path in _files(profile, layout, name)]
    items = {
        suite: Asked.of(load_suite(Path(settings.path), suite, settings.take))
        for suite, settings in profile.suites.items()
    }
    comparison = compare_runs(
        _judged(profile, layout, baseline),
        _judged(profile, layout, run),
        items,
        {path.relative_to(layout.root).as_posix(): file_sha256(path) for path in files},
    )
    write_record(layout.comparison(run), comparison)


def _judged(profile: Profile, layout: Layout, run: str) -> JudgedRun:
    verdicts = {suite: read_rows(layout.verdicts(run, suite), Verdict) for suite in profile.suites}
    return JudgedRun(run, verdicts, read_record(layout.engine(run), EngineRecord))


def _files(profile: Profile, layout: Layout, run: str) -> list[Path]:
    return [layout.engine(run), *(layout.verdicts(run, suite) for suite in profile.suites)]


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line and run the stage."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.compare", description=__doc__)
    parser.add_argument("--run", required=True, help="a variant other than the baseline, or baseline-again")
    parser.add_argument("--profile-file", type=Path, default=PARAMS, help="rendered profile (default: %(default)s)")
    given = parser.parse_args(argv)
    run_stage(lambda: compare(load_profile(given.profile_file), given.run))


if __name__ == "__main__":
    main()
