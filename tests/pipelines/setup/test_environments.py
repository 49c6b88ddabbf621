"""Environments: stale only when their file changes, never taken for whole when half built."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pipelines.setup import environments
from pipelines.setup.environments import ENVS, STAMP, VENVS, build, fingerprint, stale

ROOT = Path(__file__).parents[3]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with one environment file, as the working directory."""
    monkeypatch.chdir(tmp_path)
    ENVS.mkdir()
    (ENVS / "empty.txt").write_text("")
    return tmp_path


@pytest.mark.heavy
def test_an_environment_is_built_once_and_again_when_its_file_changes(elsewhere: Path) -> None:
    assert stale("empty")
    build("empty")
    assert not stale("empty")
    assert (VENVS / "empty" / STAMP).read_text() == fingerprint("empty")
    subprocess.run([str(VENVS / "empty/bin/python"), "-c", "pass"], check=True)
    (ENVS / "empty.txt").write_text("# changed\n")
    assert stale("empty")


@pytest.mark.heavy
def test_an_environment_can_replace_itself(elsewhere: Path) -> None:
    """`python3.11` on the PATH may be that of an environment which has to be built anew."""
    build("empty")
    (ENVS / "empty.txt").write_text("# changed\n")
    own = VENVS / "empty/bin/python"
    command = [str(own.absolute()), "-c", "from pipelines.setup.environments import build; build('empty')"]
    subprocess.run(command, check=True, env={"PYTHONPATH": str(ROOT)})
    assert not stale("empty")


@pytest.mark.heavy
def test_a_failed_build_stays_stale_and_says_why(elsewhere: Path) -> None:
    (ENVS / "empty.txt").write_text("no-such-package-anywhere==9 --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(SystemExit, match="pip could not install"):
        build("empty")
    assert stale("empty")


def test_a_missing_prerequisite_stops_before_anything_is_built(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "problems", lambda machine, names, cpu_torch: ["more memory is needed"])
    with pytest.raises(SystemExit, match="more memory is needed"):
        environments.ensure(["empty"])
    assert not (VENVS / "empty").exists()


@pytest.mark.parametrize("path", sorted(ENVS.glob("*.txt")), ids=lambda path: path.stem)
def test_every_package_is_pinned_and_hashed(path: Path) -> None:
    requirements = re.split(r"\n(?=\S)", path.read_text().strip())
    for requirement in requirements:
        assert re.match(r"[a-z0-9][a-z0-9._-]*(\[[a-z,]+\])?==\S+", requirement), requirement
        assert "--hash=sha256:" in requirement, requirement
    assert "://" not in path.read_text()


def test_the_engine_environment_leaves_out_what_breaks_it() -> None:
    text = (ENVS / "vllm.txt").read_text()
    for package in ("torchvision", "torchaudio", "torchcodec", "triton"):
        assert not re.search(rf"^{package}==", text, re.MULTILINE)
