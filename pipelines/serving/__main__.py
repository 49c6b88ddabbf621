"""Request logs, prefix caches and cards: `python -m pipelines.serving COMMAND --help`.

Exit codes: 0 done (lint: no faults), 1 faults found, 2 input that cannot be used. docs/serving.md and docs/capacity.md
have examples.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from evalsets.records import InputError
from pipelines.params import PARAMS
from pipelines.serving import capacity_command, commands
from pipelines.serving.load.sweep_command import sweep
from pipelines.serving.routing import POLICIES
from quantize.recipe import RecipeError

SUITES = Path("evalsets/data")
BROKEN = 2


def parser() -> ArgumentParser:
    """The command line."""
    made = ArgumentParser(
        prog="python -m pipelines.serving", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    commands_ = made.add_subparsers(required=True, metavar="COMMAND")
    generate = commands_.add_parser("generate", help="a request log out of the suites")
    generate.set_defaults(work=commands.generate)
    _add_model(generate)
    generate.add_argument("--out", type=Path, required=True, help="JSONL file to write")
    generate.add_argument("--requests", type=_positive, default=7200, help="rows (default: %(default)s)")
    generate.add_argument("--rate", type=_rate, default=2.0, help="requests per second (default: %(default)s)")
    generate.add_argument("--tenants", type=_positive, default=40, help="default: %(default)s")
    generate.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    generate.add_argument("--stamp", choices=["none", "system", "user"], default="none", help="where the time stands")
    generate.add_argument("--shuffle", choices=["tools", "keys"], nargs="*", default=[], help="in every request anew")
    generate.add_argument("--qa", type=Path, default=SUITES / "qa.jsonl", help="default: %(default)s")
    generate.add_argument("--tools", type=Path, default=SUITES / "tool_calls.jsonl", help="default: %(default)s")
    analyse = commands_.add_parser("analyse", help="average tokens, and what requests share")
    analyse.set_defaults(work=commands.analyse)
    lint = commands_.add_parser("lint", help="what spoils cached prefixes, and what it costs")
    lint.set_defaults(work=commands.lint)
    simulate = commands_.add_parser("simulate", help="hit rates of a fleet under routing policies and events")
    simulate.set_defaults(work=commands.simulate_log)
    for command in (analyse, lint, simulate):
        _add_log(command)
        _add_model(command)
    lint.add_argument("--no-cost", dest="cost", action="store_false", help="do not simulate what faults cost")
    for command, policies in ((lint, ("tenant-scene",)), (simulate, POLICIES)):
        _add_fleet(command)
        command.add_argument(
            "--policy", choices=POLICIES, nargs="+", default=policies, help="routing (default: %(default)s)"
        )
    simulate.add_argument("--seed", type=int, default=0, help="of random routing (default: %(default)s)")
    simulate.add_argument("--events", action="store_true", help="also a release, a cold replica and a quota")
    simulate.add_argument("--event-policy", choices=POLICIES, default="tenant-scene", help="default: %(default)s")
    simulate.add_argument("--plot", type=Path, help="SVG file to write")
    capacity_command.add_to(commands_)
    _add_sweep(commands_.add_parser("sweep", help="the profile's tuning as vLLM's own sweep, written or read"))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code. Bad input is one line and a 2."""
    given = parser().parse_args(arguments)
    try:
        return int(given.work(given))
    except (InputError, RecipeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return BROKEN


def _add_sweep(command: ArgumentParser) -> None:
    command.set_defaults(work=sweep)
    command.add_argument("folder", type=Path, help="where the sweep's files lie; it must not hold results to write")
    command.add_argument("--variant", required=True, help="a variant of the profile")
    command.add_argument("--read", action="store_true", help="read the results that the sweep left in the folder")
    command.add_argument("--kv-tokens", type=_positive, help="tokens that the KV cache holds (the engine's log)")
    command.add_argument("--params", type=Path, default=PARAMS, help="rendered profile (default: %(default)s)")


def _add_log(command: ArgumentParser) -> None:
    command.add_argument("log", help="a .jsonl or .parquet file, or postgresql://…")
    command.add_argument("--table", help="the table that holds the log in PostgreSQL")
    command.add_argument("--block-size", type=_positive, default=16, help="tokens of a block (default: %(default)s)")


def _add_model(command: ArgumentParser) -> None:
    command.add_argument("--checkpoint", type=Path, required=True, help="folder with tokenizer and chat template")
    toolsets = SUITES / "toolsets.json"
    command.add_argument(
        "--toolsets", type=Path, default=toolsets, help="what toolset names mean (default: %(default)s)"
    )


def _add_fleet(command: ArgumentParser) -> None:
    command.add_argument("--replicas", type=_positive, default=4, help="default: %(default)s")
    command.add_argument(
        "--kv-tokens", type=_positive, default=92_000, help="KV capacity of one replica (default: %(default)s)"
    )
    command.add_argument("--max-num-seqs", type=_positive, default=256, help="default: %(default)s")
    command.add_argument("--prefill-tok-s", type=_rate, default=4000.0, help="assumed (default: %(default)s)")
    command.add_argument("--inter-token-s", type=_rate, default=0.03, help="assumed (default: %(default)s)")


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise ValueError(text)
    return value


def _rate(text: str) -> float:
    if not 0 < (value := float(text)) < float("inf"):
        raise ValueError(text)
    return value


if __name__ == "__main__":
    sys.exit(main())
