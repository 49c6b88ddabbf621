"""Stage compare: one run against the baseline run, item by item."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evalsets.load import load_suite
from evalsets.records import InputError, write_record
from pipelines.layout import Layout
from pipelines.params import PARAMS
from pipelines.profiles import Profile, load_profile
from pipelines.stage import run_stage
from registry.gate.compare import Asked
from registry.gate.from_files import compare_files


def compare(profile: Profile, run: str) -> None:
    """Write `runs/<profile>/comparisons/<run>.json`."""
    baseline = profile.policy.baseline
    if run not in profile.compared:
        raise InputError(f"--run {run}: not compared with {baseline}; allowed: {', '.join(profile.compared)}")
    layout = Layout.of(profile.profile)
    asked = {
        suite: Asked.of(load_suite(Path(settings.path), suite, settings.take))
        for suite, settings in profile.suites.items()
    }
    write_record(layout.comparison(run), compare_files(layout.root, baseline, run, asked))


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line and run the stage."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.compare", description=__doc__)
    parser.add_argument("--run", required=True, help="a variant other than the baseline, or baseline-again")
    parser.add_argument("--profile-file", type=Path, default=PARAMS, help="rendered profile (default: %(default)s)")
    given = parser.parse_args(argv)
    run_stage(lambda: compare(load_profile(given.profile_file), given.run))


if __name__ == "__main__":
    main()
