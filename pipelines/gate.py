"""Stage gate: the decision, from the comparisons, the engine records, the manifests and the policy.

Without a flag it writes decision.json and exits 0 whatever was decided. `--check` decides again, prints, and exits by
the decision: 0 every required candidate passes, 1 one FAILs, 3 one is INCONCLUSIVE, 2 anything was broken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

BROKEN = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the stage's three commands and return the exit code; whatever goes wrong is one line and a 2."""
    given = _arguments(argv)
    try:
        # Imported here, since the exit code 1 of a failing import would read as a FAIL.
        from pipelines import gate_commands

        return gate_commands.run(given)
    except Exception as error:
        print(f"error: the gate itself failed: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
        return BROKEN


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.gate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--profile-file", type=Path, default=Path("params.yaml"), help="rendered profile (default: %(default)s)"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="print the decision and exit by it: 0, 1, 2 or 3")
    what.add_argument("--explain", action="store_true", help="print what the policy can decide; needs no run")
    parser.add_argument("--strict", action="store_true", help="with --explain: exit 3 if a gate cannot be decided")
    given = parser.parse_args(argv)
    if given.strict and not given.explain:
        parser.error("--strict goes with --explain")
    return given


if __name__ == "__main__":
    sys.exit(main())
