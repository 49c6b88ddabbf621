"""What a run will take, and whether it can work at all, before any GPU time is spent. Nothing is started.

Stages, disk, memory, requests and tokens, gates, engine flags and the attempt, for the active profile or another one.
Needs no GPU and no model: shapes come from config.json. Every number says whether it is calculated, measured or
assumed.

Exit codes: 0 the run may be started, 2 input that cannot be used, 3 refused, with every reason.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from evalsets.records import InputError, record_bytes
from pipelines.params import PARAMS
from pipelines.planning.assemble import make_plan
from pipelines.planning.engine_flags import check_flags
from pipelines.planning.read import Options, read_material
from pipelines.planning.text import text
from pipelines.profiles import PROFILES
from quantize.recipe import RecipeError

BROKEN = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Print the plan and return the exit code; bad input is one line and a 2."""
    given = _parser().parse_args(argv)
    try:
        options = Options(_file(given.profile), given.config, given.checkpoint, given.card_gib, given.hub, given.here)
        plan = make_plan(read_material(options), check_flags)
    except (InputError, RecipeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return BROKEN
    print(record_bytes(plan).decode() if given.json else text(plan), end="" if given.json else "\n")
    return plan.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.plan", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--profile", metavar="NAME", help="a profile's name or its file (default: the active one, params.yaml)")
    add("--config", type=Path, metavar="FILE", help="config.json of the model (default: the one here, or shipped)")
    add("--hub", action="store_true", help="ask the profile's hub for sizes and config.json; no weights are fetched")
    add("--checkpoint", type=Path, metavar="FOLDER", help="tokenizer and chat template that count prompt tokens")
    add("--card-gib", type=_gib, metavar="X", help="memory of each card as CUDA reports it (default: A100 80G's)")
    add("--here", action="store_true", help="the run will be on this machine: too little disk or memory refuses")
    add("--json", action="store_true", help="print the plan as one JSON record")
    return parser


def _file(name: str | None) -> Path:
    if name is None:
        return PARAMS
    return Path(name) if name.endswith(".yaml") else PROFILES / f"{name}.yaml"


def _gib(given: str) -> float:
    value = float(given)
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{given} is not a size above 0")
    return value


if __name__ == "__main__":
    sys.exit(main())
