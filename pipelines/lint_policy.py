"""Lint of the policies: `python -m pipelines.lint_policy` compares every profile with its last published evidence.

A policy that asks less than the one under which `evidence/<profile>/` was decided needs `weakened_because` in the
profile: a reason that a reviewer reads. Exit code 2 with every weaker clause where it is missing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from evalsets.records import InputError
from pipelines.attempts import EVIDENCE
from pipelines.params import PARAMS
from pipelines.profiles import PROFILES, load_profile
from pipelines.stage import run_stage
from registry.gate.weakening import weaker


def weakened(profiles: Path, evidence: Path) -> list[str]:
    """One line for every clause that became weaker without a reason, with the profile's file.

    `profiles` holds the profiles, `evidence` a folder with `params.yaml` for each that was published.
    """
    found = []
    for path in sorted(profiles.glob("*.yaml")):
        published = evidence / path.stem / PARAMS.name
        if not published.is_file():
            continue
        old, new = load_profile(published).policy, load_profile(path).policy
        if new.weakened_because in (None, "", old.weakened_because):
            found += [f"{path}: policy.{text}; say why in policy.weakened_because" for text in weaker(old, new)]
    return found


def main() -> None:
    """Lint every profile that has published evidence."""
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.lint_policy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--profiles", type=Path, default=PROFILES, help="folder of profiles (%(default)s)")
    parser.add_argument("--evidence", type=Path, default=EVIDENCE, help="folder of published evidence (%(default)s)")
    given = parser.parse_args()

    def work() -> None:
        if found := weakened(given.profiles, given.evidence):
            raise InputError("\nerror: ".join(found))

    run_stage(work)


if __name__ == "__main__":
    main()
