"""vLLM's own load generator as a process that stays: the engine's environment runs it, imports are paid once.

It reads one JSON list of arguments of `vllm bench serve` per line and answers each with a line: `done`, or `failed` and
why. With arguments of its own it runs once with these, as the `vllm` script would where it starts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence

from vllm.benchmarks.serve import add_cli_args, main


def run(arguments: Sequence[str]) -> None:
    """One run of the load generator; what it prints goes to standard error."""
    parser = argparse.ArgumentParser(prog="vllm bench serve")
    add_cli_args(parser)
    with contextlib.redirect_stdout(sys.stderr):
        main(parser.parse_args(arguments))


def serve_lines() -> None:
    """Answer every line of standard input until it ends."""
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            run(json.loads(line))
            print("done", flush=True)
        except (Exception, SystemExit) as error:
            print(f"failed {type(error).__name__}: {' '.join(str(error).split())}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        run(sys.argv[1:])
    else:
        serve_lines()
