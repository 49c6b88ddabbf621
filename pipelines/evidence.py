"""Copy a run's small records to `evidence/<profile>/`: what README, tests and reviewers read.

`make evidence` does this after a run that is worth keeping. Weights and log-probabilities stay behind; everything that
is copied is copied byte for byte, so that every digest still holds.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from evalsets.records import InputError, read_record, write_atomic
from pipelines.layout import Layout
from pipelines.params import PARAMS
from pipelines.profiles import Profile, load_profile
from pipelines.reporting.summary import run_summary
from pipelines.stage import run_stage
from registry.gate.decision import Decision

EVIDENCE = Path("evidence")
README = Path("README.md")
BEGIN, END = "<!-- decision:begin -->", "<!-- decision:end -->"


def collect(profile: Profile) -> Path:
    """Replace `evidence/<profile>/` by the records of the active profile's run; the folder's path."""
    layout = Layout.of(profile.profile)
    target = EVIDENCE / profile.profile
    if not layout.promotion.exists():
        raise InputError(f"{layout.promotion}: no such file; there is no whole run to copy yet, run: make repro")
    if target.exists():
        shutil.rmtree(target)
    files = [
        layout.source,
        layout.decision,
        layout.report,
        layout.report_html,
        layout.report_xml,
        layout.promotion,
        layout.calibration,
        layout.attempts,
    ]
    files += [layout.manifest(variant) for variant in profile.variants]
    files += [layout.comparison(run) for run in profile.compared]
    files += [path for path in map(layout.serving, profile.variants) if path.is_file()]
    for run in profile.runs:
        files += [layout.engine(run), layout.metrics(run)]
        files += [layout.verdicts(run, suite) for suite in profile.suites]
        files += [layout.responses(run, suite) for suite in profile.suites]
    files += sorted(path for path in layout.release.rglob("*") if path.is_file())
    for path in files:
        _copy(path, target / path.relative_to(layout.root))
    _copy(Path("dvc.lock"), target / "dvc.lock")
    _copy(PARAMS, target / "params.yaml")
    return target


def refreshed(readme: str, decision: Decision, report: Path) -> str:
    """README.md with the decision table of this evidence between its markers."""
    before, _, rest = readme.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise InputError(f"README.md: no {BEGIN} … {END}; put the markers back")
    return f"{before}{BEGIN}\n\n```text\n{run_summary(decision, report)}\n```\n\n{END}{after}"


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def main() -> None:
    """Copy, show a local run's decision in README.md, and say what to commit."""
    target = collect(load_profile(PARAMS))
    if target.name == "local":
        decision = read_record(target / "decision.json", Decision)
        write_atomic(README, refreshed(README.read_text("utf-8"), decision, target / "report.md").encode())
    print(f"{target}/ holds this run; commit it together with dvc.lock and README.md")


if __name__ == "__main__":
    run_stage(main)
