"""The whole check on two small repositories: whose code runs, what is refused, and the exit codes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from evalsets.records import write_record
from pipelines.ci.recompute import recompute, run_python
from pipelines.ci.release_gate import main
from pipelines.ci.settings import foreign_settings
from pipelines.profiles import Profile, render
from tests.pipelines.report_records import decision
from tests.pipelines.report_settings import profile

# Stand-ins for the base branch's commands, with the interface of the real ones.
VERIFY = """
import json, pathlib, sys
command, evidence, *options = sys.argv[1:]
wanted = ["--policy", "profiles/demo.yaml", "--check", "--attempts", "evidence/demo/attempts.jsonl"]
assert (command, options) in (("verify", wanted), ("verify", [*wanted, "--public-key", "key.pem"])), sys.argv
decision = json.loads((pathlib.Path(evidence) / "decision.json").read_text())
print("judged by the base branch")
if (pathlib.Path(evidence) / "tampered").exists():
    sys.exit(2)
if (pathlib.Path(evidence) / "crash").exists():
    raise SystemError
print("verified: by the base branch")
sys.exit(decision["exit_code"])
"""
REPORT = """
import pathlib, sys
assert sys.argv[1:] == ["--profile-file", "runs/demo/params.yaml"], sys.argv
assert pathlib.Path("runs/demo/decision.json").exists()
pathlib.Path("runs/demo/report.md").write_text("# The report\\n")
"""
EVIL = "import pathlib; pathlib.Path('../owned').write_text('x'); raise SystemExit(0)\n"
PROFILE = render(profile(), Path("profiles/demo.yaml"))


@pytest.fixture
def checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`base/`, the current folder, and `head/`, which begins as the same commit."""
    base = tmp_path / "base"
    files = {
        "registry/__main__.py": VERIFY,
        "pipelines/report.py": REPORT,
        "profiles/demo.yaml": PROFILE,
        "evidence/demo/params.yaml": PROFILE,
        "evidence/demo/report.md": "# The report\n",
        "evidence/demo/attempts.jsonl": '{"run": 1}\n',
    }
    for name, text in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    write_record(base / "evidence/demo/decision.json", decision())
    _commit(base)
    shutil.copytree(base, tmp_path / "head")
    monkeypatch.chdir(base)
    return tmp_path


def _commit(folder: Path) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True, capture_output=True)


def _decided(head: Path, code: int) -> None:
    write_record(head / "evidence/demo/decision.json", decision(exit_code=code))


def _link(head: Path) -> None:
    (head / "evidence/demo/report.md").unlink()
    (head / "evidence/demo/report.md").symlink_to("../../../base/evidence/demo/report.md")


def _write(name: str, text: str) -> Callable[[Path], object]:
    def change(head: Path) -> None:
        (head / name).parent.mkdir(parents=True, exist_ok=True)
        (head / name).write_text(text)

    return change


@pytest.mark.parametrize(
    ("change", "code", "shown"),
    [
        (lambda head: None, 0, "verified: by the base branch"),
        (lambda head: _decided(head, 1), 1, "exit code 1, a required candidate FAILs"),
        (lambda head: _decided(head, 3), 3, "exit code 3, a required candidate is INCONCLUSIVE"),
        (_write("evidence/demo/tampered", "x"), 2, "judged by the base branch"),
        (_write("evidence/demo/crash", "x"), 2, "SystemError"),
        (
            _write("evidence/demo/params.yaml", PROFILE.replace("path: qa.jsonl", "path: ../head/qa.jsonl")),
            2,
            ": suites: ",
        ),
        (_write("evidence/demo/params.yaml", "profile: demo\n"), 2, "params.yaml: "),
        (_write("evidence/demo/params.yaml", PROFILE.replace("repo: somewhere", "repo: elsewhere")), 0, "verified: "),
        (_write("evidence/demo/report.md", "# All is well\n"), 2, "report.md: not the report of this evidence"),
        (_write("evidence/mine/decision.json", "{}"), 2, "the base branch has no profiles/mine.yaml"),
        (
            _write("profiles/demo.yaml", PROFILE.replace("16.0", "30.0")),
            0,
            "changed, to be reviewed: profiles/demo.yaml",
        ),
        (_write("registry/__main__.py", EVIL), 0, "changed, to be reviewed: registry/__main__.py"),
        (_write("pipelines/report.py", EVIL), 0, "changed, to be reviewed: pipelines/report.py"),
        (_write("sitecustomize.py", EVIL), 0, "verified: by the base branch"),
        (_link, 2, "report.md: mode 120000"),
        (lambda head: shutil.rmtree(head / "evidence"), 2, "evidence/demo: gone"),
    ],
)
def test_a_pull_request(
    checkouts: Path, change: Callable[[Path], object], code: int, shown: str, capfd: pytest.CaptureFixture[str]
) -> None:
    change(checkouts / "head")
    _commit(checkouts / "head")
    assert main(["../head", "--out", "../gate"]) == code
    assert shown in capfd.readouterr().out
    assert (checkouts / "gate/summary.md").read_text().startswith(f"# Release gate: exit code {code}, ")
    assert (checkouts / "gate/junit.xml").read_bytes().startswith(b"<?xml")
    assert not (checkouts / "owned").exists()


def test_the_summary_shows_the_report_made_anew(checkouts: Path) -> None:
    _write("evidence/demo/report.md", "# All is well\n")(checkouts / "head")
    _write("pipelines/report.py", EVIL)(checkouts / "head")
    _commit(checkouts / "head")
    assert main(["../head", "--out", "../gate"]) == 0
    summary = (checkouts / "gate/summary.md").read_text()
    assert "# The report" in summary
    assert "All is well" not in summary
    assert "is not the report below" in summary
    assert (checkouts / "gate/demo-report.md").read_text() == "# The report\n"


def test_a_run_of_ones_own_is_not_overwritten(checkouts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _write("runs/demo/report.md", "mine")(checkouts / "base")
    assert main(["../head", "--out", "../gate"]) == 2
    assert "runs/demo: exists and would be overwritten" in capfd.readouterr().err
    assert (checkouts / "base/runs/demo/report.md").read_text() == "mine"


def test_no_checkout_is_one_line_and_a_2(checkouts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["../nowhere", "--out", "../gate"]) == 2
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(("command", "code"), [("registry", 139), ("registry", -9), ("registry", 4), ("report", 1)])
def test_a_crash_is_never_a_verdict(checkouts: Path, command: str, code: int) -> None:
    def crash(arguments: Sequence[str]) -> tuple[int, str]:
        if arguments[1].endswith(command):
            return code, "Traceback"
        return run_python(arguments)

    evidence = checkouts / "head/evidence/demo"
    assert recompute("demo", evidence, python=crash).code == 2


def test_a_public_key_is_handed_on(checkouts: Path) -> None:
    assert main(["../head", "--out", "../gate", "--public-key", "key.pem"]) == 0


def test_without_a_ledger_on_the_base_branch_none_is_known(checkouts: Path) -> None:
    (checkouts / "base/evidence/demo/attempts.jsonl").unlink()
    asked: list[str] = []

    def remember(arguments: Sequence[str]) -> tuple[int, str]:
        asked.extend(arguments)
        return 2, ""

    recompute("demo", checkouts / "head/evidence/demo", python=remember)
    assert "verify" in asked and "--attempts" not in asked


@pytest.mark.parametrize(
    ("section", "key", "value", "expected"),
    [
        ("profile", None, "other", ["profile"]),
        ("suites", "qa", {"path": "qa.jsonl", "take": 5}, ["suites"]),
        ("toolsets", None, "../head/toolsets.json", ["toolsets"]),
        ("sampling", "seed", 2, ["sampling"]),
        ("engine", "dialect", "hermes", ["engine.dialect"]),
        ("engine", "tool_parser", "hermes", ["engine.tool_parser"]),
        ("runs", "fp8", {"variant": "bf16", "order_seed": 1}, ["runs"]),
        ("compared", None, ["fp8"], ["compared"]),
        ("engine", "max_num_seqs", 8, []),
        ("model", "revision", "2", []),
        ("calibration", "samples", 2, []),
        ("variants", "fp8", {"recipe": "another.yaml"}, []),
        ("registry", "tracking_uri", "elsewhere", []),
    ],
)
def test_what_was_asked_must_be_as_the_base_branch_has_it(
    section: str, key: str | None, value: object, expected: list[str]
) -> None:
    trusted = profile()
    settings = trusted.model_dump(mode="json")
    changed = value if key is None else settings[section] | {key: value}
    found = Profile.model_validate(settings | {section: changed})
    assert foreign_settings(trusted, found) == expected
