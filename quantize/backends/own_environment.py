"""Backends whose libraries live in an environment of their own: the usual face, with the work done by a process there.

`python -m quantize.backends.own_environment NAME JOB REPORT` is that process: it reads what is to be made from the file
JOB (JSON), fills the staging folder and writes what the backend says of it to the file REPORT (JSON).
"""

from __future__ import annotations

import argparse
import ctypes
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel, ConfigDict, TypeAdapter

from quantize.backends.report import BackendReport
from quantize.calibration import Row
from quantize.recipe import Recipe, RecipeError

PYTHONS = {"autoawq": Path(".venvs/autoawq/bin/python")}
REPORT = TypeAdapter(BackendReport)
PR_SET_PDEATHSIG = 1
REFUSED = 2
LAST_LINES = 8
ADVICE = "run: make setup"  # it makes what the active profile's recipes need


class Job(BaseModel):
    """What a backend is asked for: its four arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: Path
    recipe: Recipe
    rows: list[Row]
    staging: Path


def backend(name: str) -> Callable[[Path, Recipe, Sequence[Row], Path], BackendReport]:
    """The backend `name`, run by the interpreter of its own environment.

    Raises `RecipeError` where that environment is missing, or with what the backend's process last said.
    """

    def make(base: Path, recipe: Recipe, rows: Sequence[Row], staging: Path) -> BackendReport:
        if not PYTHONS[name].exists():
            raise RecipeError(f"backend {name}: its environment {PYTHONS[name].parents[1]} is missing; {ADVICE}")
        with TemporaryDirectory() as folder:
            job, report = Path(folder, "job.json"), Path(folder, "report.json")
            job.write_text(Job(base=base, recipe=recipe, rows=list(rows), staging=staging).model_dump_json(), "utf-8")
            _run(name, job, report)
            return REPORT.validate_json(report.read_bytes())

    return make


def _run(name: str, job: Path, report: Path) -> None:
    command = [str(PYTHONS[name]), "-m", "quantize.backends.own_environment", name, str(job), str(report)]
    # On a terminal its progress bars show as they are; else its words are kept for the message.
    kept = None if sys.stderr.isatty() else subprocess.PIPE
    done = subprocess.run(command, stdout=kept, stderr=kept, text=True, check=False)
    if done.returncode == REFUSED:
        raise RecipeError(report.read_text("utf-8"))
    if done.returncode:
        said = (done.stderr or "").strip().splitlines()[-LAST_LINES:]
        last = "".join(f"\n  | {line[:300]}" for line in said)
        raise RecipeError(
            f"backend {name} ended with exit code {done.returncode}; if a module is missing, {ADVICE}{last}"
        )


def main() -> None:
    """Do the job. Exit code 2, with the reason in place of the report, for what the backend refuses."""
    parser = argparse.ArgumentParser(prog="python -m quantize.backends.own_environment", description=__doc__)
    parser.add_argument("name", choices=sorted(PYTHONS))
    parser.add_argument("job", type=Path)
    parser.add_argument("report", type=Path)
    given = parser.parse_args()
    # A publisher that is killed must not leave a process behind that writes into the next one's staging folder.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    job = Job.model_validate_json(given.job.read_bytes())
    from quantize.backends import autoawq

    try:
        report = autoawq.make(job.base, job.recipe, job.rows, job.staging)
    except RecipeError as error:
        given.report.write_text(str(error), "utf-8")
        raise SystemExit(REFUSED) from None
    given.report.write_bytes(REPORT.dump_json(report))


if __name__ == "__main__":
    main()
