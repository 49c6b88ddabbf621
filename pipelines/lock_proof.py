"""Lock proof: do dvc.lock, the files of a tree and its committed evidence belong together? Needs no run and no GPU.

`python -m pipelines.lock_proof [FOLDER]` exits 0 if no stage up to the report would run again and the evidence is what
dvc.lock names, else 2 with the stages, what changed for each, and what to do. DVC reads the folder and runs nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from os import environ
from pathlib import Path, PurePosixPath

import yaml
from pydantic import BaseModel, ValidationError

from evalsets.records import InputError, explain
from pipelines.stage import QUIET
from registry.store.markup import one_line

LAST = "report"
REPRO = ["repro", "--allow-missing", "--dry", LAST]
STATUS = ["status", "--json", "--with-deps", LAST]
UNPROVEN = 2
# What DVC says of a file that a clone does not have; of everything else it says that it is another one.
ABSENT = ("deleted", "not in cache")
ADVICE = (
    "run the pipeline where its engine is (make repro), then make evidence, and commit dvc.lock, README.md and "
    "evidence/ together"
)


class Output(BaseModel):
    """An output as dvc.lock has it. `md5` ends in `.dir` for a folder."""

    path: str
    md5: str | None = None


class Stage(BaseModel):
    """A stage as dvc.lock has it; its inputs are DVC's to compare."""

    outs: list[Output] = []


class Lock(BaseModel):
    """The part of dvc.lock that says what a run wrote."""

    stages: dict[str, Stage]


def is_current(code: int, said: str) -> bool:
    """Whether `dvc repro --dry` found nothing to do. Its exit code alone is 0 for a stage that would run, too."""
    lines = said.splitlines()
    would_run = [line for line in lines if line.startswith("Running stage ") or " is cached" in line]
    return code == 0 and not would_run and f"Stage '{LAST}' didn't change, skipping" in lines


def changes(status: Mapping[str, Sequence[str | Mapping[str, object]]]) -> dict[str, list[str]]:
    """Per stage, by name, the inputs that are not those of the lock, in DVC's order; stages without any are left out.

    `status` is what `dvc status --json` prints. What is merely absent under `runs/` is no change.
    """
    found = {stage: [change for entry in entries for change in _changes(entry)] for stage, entries in status.items()}
    return {stage: found[stage] for stage in sorted(found) if found[stage]}


def _changes(entry: str | Mapping[str, object]) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    inputs = entry.get("changed deps", {})
    named = []
    for path, state in inputs.items() if isinstance(inputs, Mapping) else ():
        if isinstance(state, Mapping):
            named += [f"{path}: {key}" for key in state]
        elif not (state in ABSENT and path.startswith("runs/")):
            named.append(path)
    return named


def foreign_files(lock: Lock, digests: Mapping[str, str]) -> list[str]:
    """The files of the evidence that are not what the lock says a run wrote, or that must be there and are not.

    `digests` maps a path below `evidence/` (`local/decision.json`) to its MD5. Folders are not compared: their files
    hang on the engine records and comparisons, which are.
    """
    written = {
        PurePosixPath(*PurePosixPath(out.path).parts[1:]).as_posix(): out.md5
        for stage in lock.stages.values()
        for out in stage.outs
        if out.path.startswith("runs/")
    }
    wrong = [f"evidence/{path}" for path, md5 in written.items() if digests.get(path, md5) != md5]
    missing = [f"evidence/{path}" for path in written if path.endswith("/decision.json") and path not in digests]
    return sorted(wrong + missing)


def problems(folder: Path) -> list[str]:
    """Why the tree is not proven, one line each; empty if it is. Raises `InputError` where dvc.lock cannot be read."""
    code, said = _dvc(folder, REPRO)
    if not is_current(code, said):
        stale = changes(_status(folder))
        if not stale:
            return ["dvc.lock: DVC could not compare it with this tree; it said:", *_tail(said)]
        lines = [f"  {stage}: {', '.join(changed)}" for stage, changed in stale.items()]
        return [f"dvc.lock: made from other files than these; stale with all that follows: {len(stale)} stages", *lines]
    wrong = foreign_files(_lock(folder / "dvc.lock"), _digests(folder / "evidence"))
    if wrong:
        return ["evidence: not what dvc.lock says the run wrote:", *(f"  {path}" for path in wrong)]
    return []


def _dvc(folder: Path, arguments: list[str]) -> tuple[int, str]:
    # The script, not `-m dvc`: that would import modules from the folder, whose files are data here.
    command = [str(Path(sys.executable).with_name("dvc")), *arguments]
    done = subprocess.run(command, cwd=folder, env=environ | QUIET, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr if done.returncode else done.stdout


def _status(folder: Path) -> dict[str, list[str | dict[str, object]]]:
    code, said = _dvc(folder, STATUS)
    found = json.loads(said) if code == 0 else {}
    return found if isinstance(found, dict) else {}


def _tail(said: str) -> list[str]:
    return [f"  | {line}" for line in said.splitlines() if line.strip()][-8:]


def _lock(path: Path) -> Lock:
    try:
        return Lock.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}; {ADVICE}") from None


def _digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {path.relative_to(folder).as_posix(): hashlib.md5(path.read_bytes()).hexdigest() for path in files}


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was proven or why not; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.lock_proof", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="the tree (default: the current folder)")
    try:
        found = problems(parser.parse_args(argv).folder)
    except (InputError, OSError, ValueError, yaml.YAMLError) as error:
        found = [str(error)]
    if found:
        print("\n".join([f"error: {one_line(found[0])}", *map(_printable, found[1:]), ADVICE]), file=sys.stderr)
        return UNPROVEN
    print("dvc.lock is that of this tree, and the evidence is what it names")
    return 0


def _printable(line: str) -> str:
    return "  " + one_line(line)


if __name__ == "__main__":
    sys.exit(main())
