"""A backend in an environment of its own: the job it gets, the report that comes back, what is said when it fails."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from quantize.backends import own_environment
from quantize.backends.report import BackendReport
from quantize.calibration import Row
from quantize.recipe import RecipeError, load_recipe

RECIPE, _ = load_recipe(Path("quantize/recipes/awq-int4-autoawq.yaml"))
ROWS = [Row("row-1", [5, 6, 7], [0, 1, 1])]
SAID = BackendReport({"autoawq": "0.2.9"}, "cpu", ["a warning"], 2, {}, rows_cut=1)
HEAD = f"#!{sys.executable}\nimport json, sys\nfrom pathlib import Path\nname, job, report = sys.argv[3:]\n"


def make(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str | None) -> BackendReport:
    """The backend's report, with a stand-in of this body for its environment's interpreter (None: there is none)."""
    python = folder / "autoawq/bin/python"
    if body is not None:
        python.parent.mkdir(parents=True)
        python.write_text(HEAD + body)
        python.chmod(0o755)
    monkeypatch.setitem(own_environment.PYTHONS, "autoawq", python)
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # a terminal would be written to directly
    return own_environment.backend("autoawq")(folder / "base", RECIPE, ROWS, folder / "staging")


def test_the_job_goes_there_and_the_report_comes_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report = own_environment.REPORT.dump_json(SAID).decode()
    seen = tmp_path / "seen.json"
    body = f"Path({str(seen)!r}).write_text(Path(job).read_text()); Path(report).write_text({report!r})\n"
    assert make(monkeypatch, tmp_path, body) == SAID
    job = own_environment.Job.model_validate(json.loads(seen.read_text()))
    assert job == own_environment.Job(base=tmp_path / "base", recipe=RECIPE, rows=ROWS, staging=tmp_path / "staging")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (None, r"autoawq is missing; run: make setup"),
        ("Path(report).write_text('too few rows'); sys.exit(2)\n", r"^too few rows$"),
        ("import no_such_module\n", r"(?s)exit code 1; .*run: make setup\n.*No module named 'no_such_module'"),
        ("import os; os.kill(os.getpid(), 9)\n", r"exit code -9"),
    ],
    ids=["missing", "refused", "broken", "killed"],
)
def test_a_failure_says_what_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str | None, says: str
) -> None:
    with pytest.raises(RecipeError, match=says):
        make(monkeypatch, tmp_path, body)
