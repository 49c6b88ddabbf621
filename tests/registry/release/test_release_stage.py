"""The stage on a run's folder: what it writes, what it leaves, what it refuses, and in one line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsets.records import digest, read_record, write_record
from pipelines import release as stage
from pipelines.engine.settings import engine_argv, recorded_argv, served_name
from pipelines.engine_modes import launched
from pipelines.layout import Layout
from pipelines.profiles import load_profile
from registry.evidence import EngineRecord
from registry.release.files import NAMES
from registry.release.release import read_release
from registry.release.release_of import Additions
from registry.store.promotion import Promotion, ScenePromotion
from tests.registry.store.fake_run import AGAIN, BASELINE, FakeRun, Verdicts

PROFILE = Path(__file__).resolve().parents[3] / "profiles" / "local.yaml"
ENGINE = launched(load_profile(PROFILE).engine, "this run")
MODEL = "qwen2.5-coder-0.5b-instruct"
DECIDED: Verdicts = {
    "qa": [("awq-int4", "PASS"), ("fp8", "PASS"), ("bf16", "PASS")],
    "tools": [("awq-int4", "FAIL"), ("fp8", "PASS"), ("bf16", "PASS")],
    "contract": [("bf16", "PASS")],
}
SERVES = {"qa": "awq-int4", "tools": "fp8", "contract": "bf16"}
FLEET = {"litellm.yaml", "production-stack.json"}
OF_BASELINE = {name for name in NAMES if not name.startswith("fallback.")}


class ServedRun(FakeRun):
    """A fake run whose engines were started as the pipeline starts them."""

    def _answers(self, run: str) -> None:
        super()._answers(run)
        path, variant = self.layout.engine(run), BASELINE if run == AGAIN else run
        record = read_record(path, EngineRecord)
        shared = record.shared.model_copy(
            update={
                "max_model_len": ENGINE.max_model_len,
                "max_num_seqs": ENGINE.max_num_seqs,
                "max_num_batched_tokens": ENGINE.max_num_batched_tokens,
            }
        )
        name = served_name(MODEL, record.weights_digest)
        argv = recorded_argv(engine_argv(ENGINE, self.layout.checkpoint(variant), name, 4321))
        changed = {"argv": argv, "served_name": name, "shared": shared, "tool_parser": "hermes", "dialect": "hermes"}
        write_record(path, record.model_copy(update=changed))


@dataclass
class Place:
    """The working directory of a finished run."""

    layout: Layout

    def decide(self, verdicts: Verdicts, serves: dict[str, str], build: str = "1") -> None:
        """Write the run anew and promote it."""
        run = ServedRun(self.layout, verdicts, build=build)
        decision = run.write()
        held = {
            scene: ScenePromotion(variant=name, weights_digest=run.weights(name), version=number)
            for number, (scene, name) in enumerate(serves.items(), 1)
        }
        write_record(self.layout.promotion, Promotion(model=MODEL, decision_sha256=digest(decision), scenes=held))

    def run(self, *words: str) -> int:
        """The stage's exit code."""
        return stage.main(["--profile-file", str(PROFILE), *words])

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Path below release/ -> bytes and time of the last write."""
        root = self.layout.release
        found = [path for path in sorted(root.rglob("*")) if path.is_file()] if root.is_dir() else []
        return {path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(tmp_path)
    made = Place(Layout.of("local"))
    made.decide(DECIDED, SERVES)
    return made


def test_every_scene_gets_its_files(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run() == 0
    names = {f"{scene}/{name}" for scene in ("qa", "tools") for name in NAMES}
    assert place.files().keys() == names | {f"contract/{name}" for name in OF_BASELINE} | FLEET
    assert capsys.readouterr().out.splitlines() == [
        f"qa: awq-int4, version 1 of {MODEL}, fallback bf16: runs/local/release/qa (11 files changed)",
        f"tools: fp8, version 2 of {MODEL}, fallback bf16: runs/local/release/tools (11 files changed)",
        f"contract: bf16, version 3 of {MODEL}: runs/local/release/contract (8 files changed)",
    ]
    release = read_release(place.layout.scene_release("qa") / "release.yaml")
    assert release.served.path == "runs/local/checkpoints/awq-int4"
    assert "--enforce-eager" in release.served.flags
    config = yaml.safe_load((place.layout.release / "litellm.yaml").read_text())
    bases = {entry["litellm_params"]["api_base"] for entry in config["model_list"]}
    assert bases == {f"http://{variant}.invalid:8000/v1" for variant in ("awq-int4", "fp8", "bf16")}


def test_a_second_run_touches_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run() == 0
    before = place.files()
    capsys.readouterr()
    assert place.run() == 0
    assert place.files() == before
    assert all(line.endswith("(no files changed)") for line in capsys.readouterr().out.splitlines())


def test_addresses_shares_and_folder_come_from_the_command_line(place: Place, tmp_path: Path) -> None:
    listed = {"backends": {name: [f"http://10.0.0.{n}:8000"] for n, name in enumerate(("bf16", "awq-int4", "fp8"), 1)}}
    (tmp_path / "backends.yaml").write_text(yaml.safe_dump(listed))
    assert place.run("--backends", "backends.yaml", "--share", "qa=0.05", "--out", "deploy") == 0
    assert place.files() == {}
    config = yaml.safe_load((tmp_path / "deploy" / "qa" / "litellm.yaml").read_text())
    found = [(entry["litellm_params"]["api_base"], entry["litellm_params"]["weight"]) for entry in config["model_list"]]
    assert found == [("http://10.0.0.2:8000/v1", 1), ("http://10.0.0.1:8000/v1", 19), ("http://10.0.0.1:8000/v1", 1)]


def test_a_plan_goes_into_the_release(place: Place) -> None:
    added = Additions(canary={"steps": [{"share": 0.05, "dwell_hours": 24}]}, guardrails={"margin_pp": 0.5})
    stage.release(place.layout, stage.Rollout(additions={"qa": added}))
    release = read_release(place.layout.scene_release("qa") / "release.yaml")
    assert (release.canary, release.guardrails) == (added.canary, added.guardrails)
    assert read_release(place.layout.scene_release("tools") / "release.yaml").canary is None


def test_what_went_back_to_the_baseline_has_no_fallback_files_left(place: Place) -> None:
    assert place.run() == 0
    place.decide(DECIDED | {"qa": [("awq-int4", "FAIL"), ("bf16", "PASS")]}, SERVES | {"qa": "bf16"})
    assert place.run() == 0
    assert {name.partition("/")[2] for name in place.files() if name.startswith("qa/")} == OF_BASELINE


def test_a_scene_that_is_gone_takes_its_files_along(place: Place) -> None:
    assert place.run() == 0
    (place.layout.release / "notes").mkdir()
    (place.layout.release / "notes" / "mine.txt").write_text("kept")
    place.decide({"qa": DECIDED["qa"]}, {"qa": "awq-int4"})
    assert place.run() == 0
    assert {name.partition("/")[0] for name in place.files()} == {"qa", "notes", *FLEET}


def test_a_scene_still_served_by_an_earlier_decision_keeps_its_release(place: Place) -> None:
    assert place.run() == 0
    before = place.files()
    undecided: Verdicts = DECIDED | {"qa": [("awq-int4", "INCONCLUSIVE"), ("bf16", "PASS")]}
    place.decide(undecided, SERVES)
    assert place.run() == 0
    kept = {name: file for name, file in place.files().items() if name.startswith("qa/")}
    assert kept == {name: file for name, file in before.items() if name.startswith("qa/")}


def test_without_an_earlier_release_the_scene_is_left_out_and_said(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.decide(DECIDED | {"qa": [("awq-int4", "INCONCLUSIVE"), ("bf16", "PASS")]}, SERVES)
    assert place.run() == 0
    assert not [name for name in place.files() if name.startswith("qa/")]
    assert (
        "qa: no release from here: awq-int4 serves it, and this decision has INCONCLUSIVE for it, not PASS; "
        "its release is with the evidence that promoted it\n"
    ) in capsys.readouterr().out


def test_an_earlier_release_of_other_weights_does_not_count(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run() == 0
    place.decide(DECIDED | {"qa": [("awq-int4", "FAIL"), ("bf16", "PASS")]}, SERVES, build="2")
    assert place.run() == 0
    assert "qa: no release from here" in capsys.readouterr().out
    assert not [name for name in place.files() if name.startswith("qa/")]


def test_weights_that_the_decision_did_not_test_are_never_released(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    tampered(place, scenes={"qa": held("awq-int4", "0" * 64)})
    assert place.run() == 0
    assert f"awq-int4 serves it with weights {'0' * 64}, the decision" in capsys.readouterr().out
    assert not [name for name in place.files() if name.startswith("qa/")]


def tampered(place: Place, **changed: Any) -> None:
    path = place.layout.promotion
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


def held(variant: str, weights: str) -> dict[str, Any]:
    return {"variant": variant, "weights_digest": weights, "version": 1}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scenes": {"../qa": held("bf16", "0" * 64)}}, "scene '../qa' cannot be a folder"),
        ({"scenes": {"..": held("bf16", "0" * 64)}}, "scene '..' cannot be a folder"),
        ({"decision_sha256": "0" * 64}, "it was made from another decision"),
    ],
)
def test_a_promotion_that_does_not_fit_is_refused(
    place: Place, capsys: pytest.CaptureFixture[str], changed: dict[str, Any], message: str
) -> None:
    tampered(place, **changed)
    assert place.run() == stage.BROKEN
    assert message in capsys.readouterr().err
    assert place.files() == {}
    assert not list(Path("runs").glob("*/*/release.yaml"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--share", "billing=0.05"], "billing: no such scene was promoted; promoted are: qa, tools, contract"),
        (["--share", "contract=0.05"], "contract: share 0.05, but the baseline serves it"),
        (["--share", "qa=2"], "qa: share 2.0 is not from 0 to 1"),
        (["--backends", "none.yaml"], "none.yaml: no such file"),
        (["--profile-file", "none.yaml"], "none.yaml: no such file"),
    ],
)
def test_a_wrong_word_is_one_line(
    place: Place, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert place.run(*words) == stage.BROKEN
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {message}")
    assert captured.err.count("\n") == 1
    assert place.files() == {}


def test_without_a_promotion_it_says_what_to_run(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.layout.promotion.unlink()
    assert place.run() == stage.BROKEN
    assert "promotion.json: no such file; run the stage that writes it (dvc repro)" in capsys.readouterr().err
