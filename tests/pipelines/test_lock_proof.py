"""The lock proof: what DVC prints, read as current or stale; and a real pipeline whose data is gone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.lock_proof import Lock, changes, foreign_files, is_current, main

FRESH = "Stage 'fetch' didn't change, skipping\nStage 'report' didn't change, skipping\n"


@pytest.mark.parametrize(
    ("code", "said", "expected"),
    [
        pytest.param(0, FRESH + "Data and pipelines are up to date.\n", True, id="current"),
        pytest.param(
            0,
            "Stage 'gate' didn't change, skipping\nRunning stage 'report':\n> python -m pipelines.report\n"
            "Use `dvc push` to send your updates to remote storage.\n",
            False,
            id="the last stage would run, exit code 0",
        ),
        pytest.param(
            255,
            "Running stage 'fetch':\n> .venvs/llmcompressor/bin/python -m pipelines.fetch\n\n"
            "ERROR: failed to reproduce 'calibrate': [Errno 2] No such file or directory: 'runs/local/base'\n",
            False,
            id="an early stage would run",
        ),
        pytest.param(
            255,
            "Stage 'fetch' didn't change, skipping\n"
            "ERROR: failed to reproduce 'judge@bf16': [Errno 2] No such file or directory: 'runs/local/x'\n",
            False,
            id="a stage would run whose input is not here",
        ),
        pytest.param(
            0,
            "Stage 'gate' is cached - skipping run, checking out outputs\nStage 'report' didn't change, skipping\n",
            False,
            id="another run of the same inputs lies in the cache",
        ),
        pytest.param(0, "Data and pipelines are up to date.\n", False, id="the report's stage is not there"),
        pytest.param(0, "", False, id="nothing said"),
        pytest.param(255, "'./dvc.yaml' is invalid.\n", False, id="no pipeline"),
        pytest.param(1, FRESH, False, id="said current and failed"),
    ],
)
def test_current_needs_exit_code_and_text(code: int, said: str, expected: bool) -> None:
    assert is_current(code, said) is expected


ABSENT = {"changed outs": {"runs/local/verdicts/fp8": "not in cache", "runs/local/report.md": "deleted"}}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([{"changed deps": {"runs/local/responses/fp8": "deleted"}}, ABSENT], None),
        ([{"changed deps": {"judges": "modified", "runs/local/responses/fp8": "deleted"}}, ABSENT], ["judges"]),
        ([{"changed deps": {"params.yaml": {"policy": "modified"}}}], ["params.yaml: policy"]),
        ([{"changed deps": {"evalsets/data/qa.jsonl": "deleted"}}], ["evalsets/data/qa.jsonl"]),
        ([{"changed deps": {"runs/local/responses/fp8": "modified"}}], ["runs/local/responses/fp8"]),
        ([{"changed deps": {"envs/vllm.txt": "new", "params.yaml": "new"}}], ["envs/vllm.txt", "params.yaml"]),
        (["changed command", ABSENT], ["changed command"]),
        ([ABSENT], None),
    ],
)
def test_what_changed_for_a_stage(entries: list[str | dict[str, object]], expected: list[str] | None) -> None:
    assert changes({"judge@fp8": entries}) == ({} if expected is None else {"judge@fp8": expected})


def test_stages_are_named_in_order() -> None:
    stale: list[str | dict[str, object]] = [{"changed deps": {"judges": "modified"}}]
    assert list(changes({"report": stale, "gate": stale, "fetch": []})) == ["gate", "report"]


LOCK = Lock.model_validate(
    {
        "schema": "2.0",
        "stages": {
            "gate": {"cmd": "x", "deps": [], "outs": [{"path": "runs/local/decision.json", "md5": "d", "hash": "md5"}]},
            "report": {"outs": [{"path": "runs/local/report.md", "md5": "r"}]},
            "judge@fp8": {"outs": [{"path": "runs/local/verdicts/fp8", "md5": "v.dir", "nfiles": 2}]},
            "elsewhere": {"outs": [{"path": "local/other.json", "md5": "o"}]},
        },
    }
)


@pytest.mark.parametrize(
    ("digests", "expected"),
    [
        ({"local/decision.json": "d", "local/report.md": "r"}, []),
        ({"local/decision.json": "d"}, []),
        ({"local/decision.json": "d", "local/verdicts/fp8/qa.jsonl": "q", "a100/decision.json": "x"}, []),
        ({"local/decision.json": "x", "local/report.md": "r"}, ["evidence/local/decision.json"]),
        (
            {"local/decision.json": "x", "local/report.md": "y"},
            ["evidence/local/decision.json", "evidence/local/report.md"],
        ),
        ({"local/report.md": "r"}, ["evidence/local/decision.json"]),
    ],
)
def test_evidence_of_another_run_is_named(digests: dict[str, str], expected: list[str]) -> None:
    assert foreign_files(LOCK, digests) == expected


PIPELINE = """
stages:
  gate:
    cmd: mkdir -p runs/tiny && cp judge.txt runs/tiny/decision.json
    deps: [judge.txt]
    outs: [runs/tiny/decision.json]
  report:
    cmd: cp runs/tiny/decision.json runs/tiny/report.md
    deps: [runs/tiny/decision.json]
    params: [policy]
    outs: [runs/tiny/report.md]
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree as a clone has it: a pipeline's lock and evidence, and none of its data."""
    folder = tmp_path_factory.mktemp("published")
    for name, text in {"dvc.yaml": PIPELINE, "judge.txt": "1\n", "params.yaml": "policy: 1\n"}.items():
        (folder / name).write_text(text)
    dvc = str(Path(sys.executable).with_name("dvc"))
    for command in (
        ["git", "init", "-q"],
        [dvc, "init", "-q"],
        [dvc, "config", "core.analytics", "false"],
        [dvc, "repro", "-q"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    shutil.copytree(folder / "runs", folder / "evidence")
    shutil.rmtree(folder / "runs")
    shutil.rmtree(folder / ".dvc/cache")
    return folder


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (None, "", None),
        ("judge.txt", "2\n", "\n  gate: judge.txt\n"),
        ("params.yaml", "policy: 2\n", "\n  report: params.yaml: policy\n"),
        ("evidence/tiny/decision.json", "2\n", "\n  evidence/tiny/decision.json\n"),
        ("dvc.yaml", "stages: [", "error: dvc.lock: DVC could not compare it with this tree; it said:\n"),
    ],
)
def test_a_tree_without_its_data(
    published: Path,
    tmp_path: Path,
    file: str | None,
    text: str,
    expected: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "tree"
    shutil.copytree(published, folder)
    # Modules here must never be imported: the tree is data.
    for name in ("dvc.py", "yaml.py", "pipelines.py"):
        (folder / name).write_text("raise SystemExit('the tree was run')\n")
    if file is not None:
        (folder / file).write_text(text)
    code = main([str(folder)])
    shown = capsys.readouterr()
    if expected is None:
        assert (code, shown.err) == (0, "")
        assert "dvc.lock is that of this tree" in shown.out
    else:
        assert code == 2
        assert expected in shown.err
        assert "make evidence" in shown.err
    assert not (folder / "runs").exists()
