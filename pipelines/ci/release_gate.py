"""The release gate of a pull request, run in a fresh checkout of its base branch.

`python -m pipelines.ci.release_gate HEAD --out DIR` takes a checkout of the pull request as data: it runs nothing of
it. Every `evidence/<profile>/` there is recomputed with this folder's code, policies and suites. DIR gets summary.md,
junit.xml and the reports. The exit code is the worst of: 2 something could not be recomputed or differs, 1 a required
candidate FAILs, 3 one is INCONCLUSIVE, 0 none of these.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

BROKEN = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Recompute, write DIR, print, and return the exit code; whatever goes wrong is one line and a 2."""
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.ci.release_gate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("head", type=Path, metavar="HEAD", help="a checkout of the pull request")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for what is written")
    parser.add_argument("--public-key", type=Path, metavar="PEM", help="the evidence must be signed by it")
    given = parser.parse_args(argv)
    try:
        return gate(given.head, given.out, ["--public-key", str(given.public_key)] if given.public_key else [])
    except Exception as error:
        # A traceback's exit code 1 would read as a FAIL.
        print(f"error: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
        return BROKEN


def gate(head: Path, out: Path, options: Sequence[str]) -> int:
    """The exit code, after writing `out`. `options` are for `registry verify`.

    Raises `InputError`, `OSError` or `CalledProcessError`.
    """
    # Imported here, since the exit code 1 of a failing import would read as a FAIL.
    from evalsets.records import write_atomic
    from pipelines.ci.junit import junit
    from pipelines.ci.outcome import exit_code, forged_reports, meaning
    from pipelines.ci.page import page
    from pipelines.ci.recompute import recompute
    from pipelines.ci.trees import changed_trusted, parse_tree, published_profiles, unusable_evidence

    base_tree, head_tree = (parse_tree(_listing(folder)) for folder in (Path(), head))
    changed = changed_trusted(base_tree, head_tree)
    problems = unusable_evidence(base_tree, head_tree)
    profiles = [] if problems else published_profiles(head_tree)
    outcomes = [recompute(profile, head / "evidence" / profile, options) for profile in profiles]
    problems += forged_reports(outcomes, list(changed))
    for outcome in outcomes:
        write_atomic(out / f"{outcome.profile}-report.md", outcome.report.encode())
    write_atomic(out / "summary.md", page(outcomes, problems, changed).encode())
    write_atomic(out / "junit.xml", junit(outcomes, problems))
    _tell([*(f"error: {line}" for line in problems), *(f"changed, to be reviewed: {path}" for path in changed)])
    _tell([line for outcome in outcomes for line in outcome.said.splitlines()])
    code = exit_code(outcomes, problems)
    print(f"release gate: exit code {code}, {meaning(code)}")
    return code


def _listing(folder: Path) -> str:
    """The files of the commit that is checked out in `folder`."""
    command = ["git", "-C", str(folder), "ls-tree", "-r", "-z", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", errors="surrogateescape").stdout


def _tell(lines: Sequence[str]) -> None:
    from registry.store.markup import one_line

    for line in lines:
        # Word by word: the spaces between are the tables' own.
        print(" ".join(map(one_line, line.split(" "))), flush=True)


if __name__ == "__main__":
    sys.exit(main())
