"""The documents say what the code does: paths exist, commands exist, the shown result is the committed run's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from evalsets.records import read_record
from pipelines.evidence import BEGIN, END, refreshed
from registry.gate.decision import Decision

ROOT = Path(__file__).parent.parent
SUITES = ROOT / "evalsets" / "data"
DOCUMENTS = [ROOT / "README.md", ROOT / "README.zh-CN.md", SUITES / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Made by a run or by set-up, or a place for the reader's own file.
MADE = ("runs/", ".venvs/", ".work/", "params.yaml", "profiles/mine.yaml", "mlflow.db")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_paths_exist(path: Path) -> None:
    text = path.read_text()
    links = re.findall(r"\]\((?!http|#)([^)#]+)", text)
    assert not [link for link in links if not (path.parent / link).exists()]
    named = re.findall(r"`((?:[\w.-]+/)+[\w.*-]*)`", text)
    lost = [
        name
        for name in named
        if not name.startswith(MADE)
        and not list(ROOT.glob(name.rstrip("/")))
        and not any((folder / name).exists() for folder in (path.parent, SUITES))
    ]
    assert not lost


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_exist(path: Path) -> None:
    text = path.read_text()
    for module in re.findall(r"python -m ([a-z_.]+)", text):
        if module.split(".")[0] in ("evalsets", "judges", "quantize", "registry", "pipelines"):
            path = ROOT / module.replace(".", "/")
            assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = set(re.findall(r"(?:`|^    |&& )make ([a-z-]+)", text, re.MULTILINE))
    assert used <= targets


def test_the_result_in_the_readme_is_the_committed_runs() -> None:
    readme = (ROOT / "README.md").read_text()
    decision = read_record(ROOT / "evidence/local/decision.json", Decision)
    assert refreshed(readme, decision, Path("evidence/local/report.md")) == readme
    assert readme.index(BEGIN) < readme.index(END)


def test_the_annotated_tree_names_every_package_and_nothing_else() -> None:
    readme = (ROOT / "README.md").read_text()
    tree = re.findall(r"^    ([\w.]+/) ", readme, re.MULTILINE)
    assert {"evalsets/", "quantize/", "judges/", "registry/", "pipelines/", "profiles/", "envs/", "evidence/"} <= set(
        tree
    )
    assert not [name for name in tree if not (ROOT / name).is_dir() and not name.startswith(MADE)]


def test_the_evidence_was_made_under_the_committed_profile() -> None:
    # As committed: a user's own run and profile may stand in the working tree.
    evidence = ROOT / "evidence/local"
    for name in ("params.yaml", "dvc.lock"):
        show = ["git", "show", f"HEAD:{name}"]
        committed = subprocess.run(show, cwd=ROOT, capture_output=True, check=True).stdout
        assert (evidence / name).read_bytes() == committed


def test_no_document_names_a_machine_or_an_index() -> None:
    for path in [*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "Makefile"]:
        hosts = set(re.findall(r"https?://([\w.-]+)", path.read_text()))
        assert hosts <= {"download.pytorch.org", "127.0.0.1", "localhost"}, path
        assert not re.search(r"(?<![\w.])/(?:root|home|work|opt)/", path.read_text()), path
