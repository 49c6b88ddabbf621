"""The registry's commands: `python -m registry COMMAND --help`.

Exit codes: 0 done, 2 refused with the reason. `verify --check` ends with the decision's own code (0, 1, 2 or 3),
`guard` with 4 where it lowers a share.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from registry.release import commands as releasing
from registry.store import commands as storing
from registry.verify import commands as verifying

BROKEN = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; whatever goes wrong is one line and a 2."""
    parser = argparse.ArgumentParser(
        prog="python -m registry", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    storing.add_to(commands)
    verifying.add_to(commands)
    releasing.add_to(commands)
    given = parser.parse_args(argv)
    try:
        code: int = given.run(given)
        return code
    except Exception as error:  # a traceback's exit code 1 would read as a FAIL
        name = "" if type(error).__name__ in ("InputError", "RecipeError") else f"{type(error).__name__}: "
        print(f"error: {name}{error}", file=sys.stderr)
        return BROKEN


if __name__ == "__main__":
    sys.exit(main())
