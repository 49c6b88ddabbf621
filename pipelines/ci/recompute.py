"""One profile's evidence, recomputed by the commands of the current folder, which is the base branch's checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import environ
from pathlib import Path

from evalsets.records import InputError, read_record
from pipelines.ci.outcome import Outcome
from pipelines.ci.settings import foreign_settings
from pipelines.layout import Layout
from pipelines.profiles import load_profile
from pipelines.stage import QUIET
from registry.gate.decision import Decision

DECIDED = (0, 1, 3)
BROKEN = 2
VERIFIED = "verified: "

# Arguments of `python`, to the exit code and all that was printed.
Python = Callable[[Sequence[str]], tuple[int, str]]


def run_python(arguments: Sequence[str]) -> tuple[int, str]:
    """Run this interpreter in the current folder."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environ | QUIET,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def recompute(profile: str, evidence: Path, options: Sequence[str] = (), python: Python = run_python) -> Outcome:
    """Judge, compare, decide and report anew from the answers in `evidence` under `profiles/<profile>.yaml`.

    `options` are further ones of `registry verify`. The exit code is that command's with `--check`; where it did not
    say that the evidence holds, 2. Raises `InputError` where `runs/<profile>` exists, which would be overwritten.
    """
    trusted = Path("profiles") / f"{profile}.yaml"
    try:
        if foreign := foreign_settings(load_profile(trusted), load_profile(evidence / "params.yaml")):
            keys = ", ".join(foreign)
            return Outcome(
                profile, BROKEN, f"error: {evidence / 'params.yaml'}: {keys}: not as in {trusted.as_posix()}"
            )
        code, said = python([*_verify(profile, evidence, trusted), *options])
        if code not in DECIDED or not any(line.startswith(VERIFIED) for line in said.splitlines()):
            return Outcome(profile, BROKEN, said)
        decision = read_record(evidence / "decision.json", Decision)
    except InputError as error:
        return Outcome(profile, BROKEN, f"error: {error}")
    return _reported(Outcome(profile, code, said, decision), evidence, python)


def _verify(profile: str, evidence: Path, trusted: Path) -> list[str]:
    command = ["-m", "registry", "verify", str(evidence), "--policy", str(trusted), "--check"]
    ledger = Path("evidence") / profile / "attempts.jsonl"
    return [*command, "--attempts", str(ledger)] if ledger.is_file() else command


def _reported(outcome: Outcome, evidence: Path, python: Python) -> Outcome:
    """The outcome with the report, made from the evidence where the files of a run lie."""
    layout = Layout.of(outcome.profile)
    if layout.root.exists():
        raise InputError(f"{layout.root}: exists and would be overwritten; use a fresh checkout of the base branch")
    shutil.copytree(evidence, layout.root)
    layout.report.unlink(missing_ok=True)
    # The run's own settings, of which those that matter are the base branch's by now.
    failed, said = python(["-m", "pipelines.report", "--profile-file", str(layout.root / "params.yaml")])
    if failed:
        return Outcome(outcome.profile, BROKEN, f"{outcome.said}\n{said}")
    report = layout.report.read_bytes()
    committed = evidence / "report.md"
    differs = not committed.is_file() or committed.read_bytes() != report
    return replace(outcome, report=report.decode(), report_differs=differs)
