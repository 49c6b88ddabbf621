"""The stage as a process: fresh databases, two at once, and one line where it cannot go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalsets.records import digest
from pipelines import promote
from pipelines.layout import Layout
from pipelines.profiles import Profile, load_profile
from registry.store.mlflow_store import Store
from tests.registry.store.fake_run import FakeRun, Verdicts
from tests.registry.store.probe import journal

ROOT = Path(__file__).resolve().parents[3]
PROFILE = ROOT / "profiles" / "local.yaml"
DECIDED: Verdicts = {
    "qa": [("awq-int4", "PASS"), ("fp8", "PASS"), ("bf16", "PASS")],
    "tools": [("awq-int4", "FAIL"), ("fp8", "PASS"), ("bf16", "PASS")],
    "contract": [("bf16", "PASS")],
}


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """The local profile with its run finished, in a working directory without a registry."""
    profile = load_profile(PROFILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(promote, "recompute", lambda root, settings: None)
    FakeRun(Layout.of(profile.profile), DECIDED, policy_sha256=digest(profile.policy)).write()
    return profile


# The run is made up, so it cannot be recomputed; the whole pipeline's test promotes a real one.
STAGE = "import sys; from pipelines import promote; promote.recompute = lambda *_: None; sys.exit(promote.main())"


def start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STAGE, "--profile-file", str(PROFILE)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.heavy
def test_two_first_promoters_at_once_end_in_one_state(profile: Profile, tmp_path: Path) -> None:
    ended = [(*process.communicate(timeout=120), process.returncode) for process in [start(), start()]]
    assert [(stderr, code) for _, stderr, code in ended] == [("", 0), ("", 0)]
    assert sorted("not moved" in stdout for stdout, _, _ in ended) == [False, True]
    store, model = Store("sqlite:///mlflow.db"), profile.model.name
    held = {alias: (version.tags["variant"], version.number) for alias, version in store.aliases(model).items()}
    assert {alias: variant for alias, (variant, _) in held.items()} == {
        "qa": "awq-int4",
        "qa-candidate": "awq-int4",
        "tools": "fp8",
        "tools-candidate": "awq-int4",
        "contract": "bf16",
    }
    assert sorted({number for _, number in held.values()}) == [1, 2, 3]
    assert len(journal(store)) == 5
    written = json.loads(Layout.of("local").promotion.read_text())
    assert {scene: (now["variant"], now["version"]) for scene, now in written["scenes"].items()} == {
        scene: held[scene] for scene in ("qa", "tools", "contract")
    }
    assert (tmp_path / "mlartifacts" / "evaluations").is_dir()
    assert not (tmp_path / "mlruns").exists()


def test_the_registry_of_the_environment_comes_first(
    profile: Profile, database: Path, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    assert promote.main(["--profile-file", str(PROFILE)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"tools: fp8, version 3 of {profile.model.name} (moved: fp8: PASS")
    before = Layout.of("local").promotion.read_bytes()
    assert promote.main(["--profile-file", str(PROFILE)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"qa: awq-int4, version 2 of {profile.model.name} (not moved)"
    assert Layout.of("local").promotion.read_bytes() == before
    assert not Path("mlflow.db").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"exit_code": 2}, "nothing is promoted, this could not be decided: qa: unjudged"),
        ({"policy_sha256": "0" * 64}, "it was decided under another policy than the profile's"),
    ],
)
def test_a_decision_that_may_not_be_promoted_is_one_line_and_exit_2(
    profile: Profile, settings: dict[str, object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = FakeRun(Layout.of("local"), DECIDED, policy_sha256=digest(profile.policy))
    for name, value in settings.items():
        setattr(run, name, value)
    run.write()
    assert promote.main(["--profile-file", str(PROFILE)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not Path("mlflow.db").exists()


def test_a_registry_that_cannot_be_opened_is_one_line_and_exit_2(
    profile: Profile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("notes.txt").write_text("not a database at all, and long enough to be read as a page " * 20)
    for uri in ("sqlite:///notes.txt", "sqlite://", "nonsense://user:secret@host"):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        assert promote.main(["--profile-file", str(PROFILE)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: ")
        assert "secret" not in line
        assert "itself failed" not in line
