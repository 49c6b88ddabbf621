"""`python -m pipelines.plan`: what it prints, its exit codes, what it asks a hub, and its make target."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from evalsets.records import InputError
from pipelines import plan as command
from pipelines.planning import hub, read
from pipelines.planning.assemble import make_plan
from pipelines.planning.hub import HubFiles
from pipelines.planning.records import FlagsCheck, Plan
from pipelines.planning.text import aligned, size, text
from pipelines.profiles import load_profile, render
from tests.pipelines.planning.planning_material import CONFIG, ROOT, accepted

SETTINGS = yaml.safe_load((ROOT / "profiles/a100.yaml").read_text("utf-8")) | {"load": None}
FILES = HubFiles({"a.safetensors": 60, "b.safetensors": 40, "config.json": 7}, CONFIG)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: what a plan reads, and one profile without a load test, in which a test may write."""
    for name in ("dvc.yaml", "quantize", "evalsets"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "profiles").mkdir()
    write_profile(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "check_flags", accepted)
    return tmp_path


def write_profile(tree: Path, **changes: Any) -> None:
    (tree / "profiles/a100.yaml").write_text(yaml.safe_dump(SETTINGS | changes), "utf-8")


def test_json_is_the_record(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--profile", "a100", "--json"]) == 0
    plan = Plan.model_validate_json(capsys.readouterr().out)
    assert (plan.profile, plan.active, plan.load) == ("a100", False, [])


def test_a_refused_plan_is_printed_with_its_reasons_and_a_3(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--profile", "profiles/a100.yaml", "--card-gib", "40"]) == 3
    printed = capsys.readouterr().out
    assert "refused\n  - bf16: does not fit: 65.5 GB of weights" in printed
    assert printed.endswith("exit code 3: refused: correct what is named above\n")


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["--profile", "a1000"], "a1000.yaml: no such file; there are: a100.yaml"),
        ([], "params.yaml: no such file"),
        (["--profile", "a100", "--config", "gone.json"], "gone.json: no such file"),
        (["--profile", "a100", "--checkpoint", "gone"], "gone: no tokenizer.json"),
    ],
)
def test_bad_input_is_one_line_and_a_2(
    argv: list[str], named: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    assert named in error


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ({"name": "other"}, "other: no config.json is at hand; give one (--config FILE) or ask the hub (--hub)"),
        ({"source": "folder", "path": "base"}, "--hub: the model of profile a100 is not on a hub"),
    ],
)
def test_a_model_of_which_nothing_is_known(
    model: dict[str, str], named: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_profile(tree, model=SETTINGS["model"] | model)
    assert command.main(["--profile", "a100", *(["--hub"] if "path" in model else [])]) == 2
    assert named in capsys.readouterr().err


def test_a_missing_calibration_file_is_a_refusal(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_profile(tree, calibration=SETTINGS["calibration"] | {"file": "gone.jsonl"})
    assert command.main(["--profile", "a100"]) == 3
    assert "calibration.file: gone.jsonl is not there" in capsys.readouterr().out


def test_a_log_that_cannot_be_read_is_a_refusal(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load = yaml.safe_load((ROOT / "profiles/a100.yaml").read_text("utf-8"))["load"]
    write_profile(tree, load=load | {"log": "gone.jsonl"})
    assert command.main(["--profile", "a100"]) == 3
    assert "gone.jsonl: no such log" in capsys.readouterr().out


def test_without_a_name_it_is_the_active_profile_and_dvc_is_asked(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = load_profile(Path("profiles/a100.yaml"))
    Path("params.yaml").write_text(render(profile, Path("profiles/a100.yaml")), "utf-8")
    monkeypatch.setattr(read, "read_status", lambda: {"gate": ["changed command"]})
    for path in ("params.yaml", "profiles/a100.yaml"):
        found = read.read_material(read.Options(Path(path)))
        states = {stage.name: stage.state for stage in found.stages}
        assert (found.active, states["gate"], states["report"], states["fetch"]) == (
            True,
            "stale",
            "follows",
            "current",
        )
    assert "gate                     stale    changed command" in text(make_plan(found, accepted))
    write_profile(tree, toolsets="evalsets/data/../data/toolsets.json")
    edited = read.read_material(read.Options(Path("profiles/a100.yaml")))
    assert not edited.active
    assert edited.warnings == ["params.yaml is another rendering of this profile: make use PROFILE=a100"]


def test_what_dvc_cannot_say_is_a_warning(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> None:
        raise InputError("dvc status failed: it is locked")

    Path("params.yaml").write_text(render(load_profile(Path("profiles/a100.yaml")), Path("x")), "utf-8")
    monkeypatch.setattr(read, "read_status", busy)
    found = read.read_material(read.Options(Path("params.yaml")))
    assert {stage.state for stage in found.stages} == {"unknown"}
    assert found.warnings == ["dvc status failed: it is locked"]


def test_the_hubs_sizes_are_measured_and_asked_only_when_wanted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def answer(repo: str, revision: str) -> HubFiles:
        asked.append((repo, revision[:7]))
        return FILES

    monkeypatch.setattr(read, "ask_hub", answer)
    options = read.Options(Path("profiles/a100.yaml"))
    assert (read.read_material(options).weights.base_bytes, asked) == (None, [])
    found = read.read_material(read.Options(options.profile, hub=True))
    assert (found.weights.base_bytes, found.weights.largest_file_bytes) == (100, 60)
    assert asked == [("Qwen/Qwen2.5-32B-Instruct", "5ede1c9")]


def test_an_unreachable_hub_is_a_warning(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(repo: str, revision: str) -> HubFiles:
        raise InputError("the hub was not reached")

    monkeypatch.setattr(read, "ask_hub", gone)
    found = read.read_material(read.Options(Path("profiles/a100.yaml"), hub=True))
    assert found.weights.base_bytes is None
    assert found.warnings == ["the hub was not reached: sizes are calculated instead"]


@pytest.mark.parametrize("reached", [True, False])
def test_the_hub_is_asked_for_sizes_and_config_alone(reached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Api:
        def model_info(self, repo: str, **options: Any) -> SimpleNamespace:
            assert "HF_HUB_OFFLINE" not in os.environ
            if not reached:
                raise ConnectionError("refused")
            files = {"m.safetensors": 9, "tokenizer.json": 2, "README.md": 5, "config.json": None}
            return SimpleNamespace(siblings=[SimpleNamespace(rfilename=k, size=v) for k, v in files.items()])

    def download(repo: str, name: str, revision: str) -> str:
        return f"cache/{name}"

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")
    library = ModuleType("huggingface_hub")
    monkeypatch.setattr(library, "HfApi", Api, raising=False)
    monkeypatch.setattr(library, "hf_hub_download", download, raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", library)
    if reached:
        assert hub.ask_hub("a/b", "0" * 40) == HubFiles(
            {"m.safetensors": 9, "tokenizer.json": 2, "config.json": 0}, Path("cache/config.json")
        )
    else:
        with pytest.raises(InputError, match="a/b@000000000000: the hub was not reached \\(ConnectionError\\)"):
            hub.ask_hub("a/b", "0" * 40)


def test_columns_of_numbers_stand_to_the_right() -> None:
    rows = [["step", "host", "note"], ["a", "9.00 GB", "x"], ["longer", "10.00 GB", "words"]]
    assert aligned(rows) == ["step        host  note", "a        9.00 GB  x", "longer  10.00 GB  words"]
    assert aligned([]) == []
    assert (size(65_527_752_704), size(3_670_016)) == ("65.53 GB", "3.67 MB")


def test_what_was_not_checked_is_said(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check = FlagsCheck(engine="", checked=0, problems={}, why="no vLLM here")
    monkeypatch.setattr(command, "check_flags", lambda engine, lines: check)
    assert command.main(["--profile", "a100"]) == 0
    assert "engine flags\n  not checked: no vLLM here" in capsys.readouterr().out


def test_the_help_says_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["--help"])
    assert stopped.value.code == 0
    assert "Exit codes: 0 the run may be started, 2 input that cannot be used, 3 refused" in capsys.readouterr().out


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "x"])
def test_a_card_has_a_size(given: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["--card-gib", given])
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("words", "environment", "end"),
    [
        ([], {}, "-m pipelines.plan"),
        (["PROFILE=a100"], {}, "-m pipelines.plan --profile a100"),
        ([], {"PROFILE": "local"}, "-m pipelines.plan --profile local"),
    ],
)
def test_the_make_target_plans_the_profile_that_was_named(
    words: list[str], environment: dict[str, str], end: str
) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in ("PROFILE", "MAKEFLAGS")}
    # The tests may run under make themselves, which then would have a last word.
    make = ["make", "--no-print-directory", "--dry-run", "plan", *words]
    done = subprocess.run(make, cwd=ROOT, env=variables | environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].rstrip().endswith(end)
