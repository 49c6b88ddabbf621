"""In the place of `bench_process`: it answers lines as that does, and writes the result that its arguments name."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def value(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1]


print("ready", flush=True)
for line in sys.stdin:
    given = json.loads(line)
    if "--request-rate" in given and value(given, "--request-rate") == "9.0":
        print("failed ValueError: no such rate", flush=True)
    elif value(given, "--request-rate") == "8.0":
        sys.exit(1)
    else:
        prompts = Path(value(given, "--dataset-path")).read_text().splitlines()
        folder, name = Path(value(given, "--result-dir")), value(given, "--result-filename")
        (folder / name).write_text(json.dumps({"arguments": given, "prompts": [json.loads(row) for row in prompts]}))
        print("done", flush=True)
