"""The workflow of the release gate: what it may do, what it runs, and that all of it exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").iterdir())
PATH = ROOT / ".github/workflows/release-gate.yml"
TEXT = PATH.read_text()
WORKFLOW: dict[Any, Any] = yaml.safe_load(TEXT)
JOB = WORKFLOW["jobs"]["release-gate"]
STEPS = JOB["steps"]
RUNS = [step["run"] for step in STEPS if "run" in step]


def using(action: str) -> list[dict[str, Any]]:
    return [step for step in STEPS if step.get("uses", "").startswith(f"{action}@")]


def test_there_is_one_workflow_with_one_job() -> None:
    assert [PATH] == WORKFLOWS
    assert list(WORKFLOW["jobs"]) == ["release-gate"]
    # The name that the branch's rule requires.
    assert JOB["name"] == WORKFLOW["name"] == "release-gate"


def test_it_runs_for_pull_requests_to_main_and_may_only_read() -> None:
    # YAML 1.1 reads the key `on` as true.
    assert WORKFLOW[True] == {"pull_request": {"branches": ["main"]}}
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "permissions" not in JOB
    assert "secrets" not in re.sub(r"import secrets|secrets\.token_hex|No secrets", "", TEXT)


def test_a_run_ends_in_time_and_only_the_newest_of_a_pull_request_goes_on() -> None:
    assert JOB["timeout-minutes"] <= 30
    concurrency = WORKFLOW["concurrency"]
    assert "github.event.pull_request.number" in concurrency["group"]
    assert concurrency["cancel-in-progress"] is True


def test_every_action_is_pinned_to_a_commit_with_its_version_beside_it() -> None:
    lines = [line.strip() for line in TEXT.splitlines() if re.search(r"\buses:", line)]
    assert len(lines) == sum("uses" in step for step in STEPS) > 0
    for line in lines:
        assert re.fullmatch(r"(- )?uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    pins = {re.sub(r"^(- )?uses: ", "", line) for line in lines}
    assert len({pin.split("@")[0] for pin in pins}) == len(pins), "one action, one pin"


def test_base_and_pull_request_lie_apart_and_no_credentials_stay() -> None:
    base, head = using("actions/checkout")
    assert base["with"] == {"ref": "refs/heads/${{ github.base_ref }}", "path": "base", "persist-credentials": False}
    assert head["with"] == {"path": "head", "persist-credentials": False}
    assert JOB["defaults"]["run"] == {"shell": "bash", "working-directory": "base"}
    assert not [step for step in STEPS if "working-directory" in step or "shell" in step]


def test_nothing_of_the_pull_request_is_run_or_read_into_a_script() -> None:
    for run in RUNS:
        assert "${{" not in run
        words = [word for word in run.split() if "head" in word]
        assert set(words) <= {"../head"}
        assert not re.search(r"\b(source|cd|make|eval|PYTHONPATH|GITHUB_ENV|GITHUB_PATH)\b", run)
    # Where data is named, it is the last argument or an option's neighbour of a module of the base branch.
    named = [line for run in RUNS for line in run.splitlines() if "../head" in line]
    assert all(re.match(r"\s*\.venvs/control/bin/python -m pipelines\.[a-z_.]+ \.\./head\b", line) for line in named)
    assert len(named) == 2


def test_nothing_is_kept_for_another_run() -> None:
    """A cache of a pull request outlives an edit of its workflow that is taken back before review."""
    assert "cache" not in re.sub(r"#.*", "", TEXT)
    assert not using("actions/download-artifact")


def test_the_steps_come_in_order_and_a_stale_lock_hides_no_decision() -> None:
    names = [step["name"].split()[0] for step in STEPS]
    assert names == ["Check", "Check", "Set", "Build", "Lock", "Recompute", "Keep"]
    recompute = next(step for step in STEPS if step["name"].startswith("Recompute"))
    assert recompute["if"] == "${{ !cancelled() && steps.environment.outcome == 'success' }}"
    assert not [step for step in STEPS if "continue-on-error" in step]
    for step in STEPS:
        if step["name"].startswith(("Lock", "Recompute")):
            assert step["run"].rstrip().endswith('exit "$code"')


def test_python_is_the_projects() -> None:
    (step,) = using("actions/setup-python")
    assert step["with"]["python-version"] == "3.11"
    assert "--require-hashes" in RUNS[0] and "--no-deps" in RUNS[0]
    assert (ROOT / "envs/control.txt").is_file() and "-r envs/control.txt" in RUNS[0]


def modules(text: str) -> set[str]:
    return set(re.findall(r"python -m ((?:pipelines|registry)[a-z_.]*)", text))


def test_the_commands_exist_and_release_nothing() -> None:
    found = modules("\n".join(RUNS))
    assert found == {"pipelines.lock_proof", "pipelines.ci.release_gate"}
    for module in found:
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()
    assert not re.search(r"promote|rollback|mlflow|alias|dvc (push|repro)|git (push|commit)", "\n".join(RUNS))


@pytest.mark.parametrize("platform", ["GitLab CI", "Jenkins", "Any shell"])
def test_the_document_shows_the_same_gate_elsewhere(platform: str) -> None:
    document = (ROOT / "docs/ci.md").read_text()
    section = document.split(f"\n### {platform}\n")[1].split("\n#")[0]
    assert modules(section) == modules("\n".join(RUNS))


def test_the_lints_of_the_workflow_are_pinned_and_have_a_target() -> None:
    wanted = {line.split("==")[0] for line in (ROOT / "envs/ci.in").read_text().splitlines() if "==" in line}
    assert wanted == {"check-jsonschema", "zizmor"}
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.split("\ncheck-ci:")[1].split("\n\n")[0]
    assert "--builtin-schema vendor.github-workflows" in recipe
    assert "zizmor --offline" in recipe
