"""The stages of a profile: named as DVC names them, and what of them is stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import InputError
from pipelines.planning.records import State
from pipelines.planning.stages import Status, read_pipeline, read_status, rendered, states
from pipelines.profiles import load_profile, render
from tests.pipelines.planning.planning_material import ROOT

PIPELINE: dict[str, Any] = {
    "stages": {
        "fetch": {"cmd": "a", "outs": ["runs/${profile}/base"]},
        "make": {
            "foreach": "${variants}",
            "do": {"cmd": "b", "deps": ["${item.recipe}", "runs/${profile}/base"], "outs": ["made/${key}"]},
        },
        "compare": {
            "foreach": "${compared}",
            "do": {"cmd": "c", "deps": ["made/${item}"], "outs": [{"out/${item}.json": {"cache": False}}]},
        },
        "report": {"cmd": "d", "deps": ["out"], "outs": ["report.md"]},
    }
}
SETTINGS = {"profile": "p", "variants": {"x": {"recipe": "x.yaml"}, "y": {"recipe": "y.yaml"}}, "compared": ["y"]}


def test_foreach_is_written_out_over_mappings_and_lists() -> None:
    stages = rendered(PIPELINE, SETTINGS)
    assert [stage.name for stage in stages] == ["fetch", "make@x", "make@y", "compare@y", "report"]
    assert (stages[2].deps, stages[2].outs) == (("y.yaml", "runs/p/base"), ("made/y",))
    assert stages[3].outs == ("out/y.json",)


def test_a_place_that_the_profile_lacks_is_named() -> None:
    with pytest.raises(InputError, match=r"\$\{variants\} is not in the profile"):
        rendered(PIPELINE, {"profile": "p", "compared": []})


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, ["current"] * 5),
        (None, ["unknown"] * 5),
        ({"make@y": [{"changed deps": {"y.yaml": "modified"}}]}, ["current", "current", "stale", "follows", "follows"]),
        ({"fetch": [{"changed outs": {"runs/p/base": "deleted"}}]}, ["stale", *["follows"] * 4]),
        ({"report": ["always changed"]}, [*["current"] * 4, "stale"]),
    ],
)
def test_what_reads_the_output_of_a_stale_stage_follows(status: Status | None, expected: list[State]) -> None:
    assert [stage.state for stage in states(rendered(PIPELINE, SETTINGS), status)] == expected


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("always changed", ["always changed"]),
        ("changed command", ["changed command"]),
        ({"changed deps": {"a.py": "modified", "b": "deleted"}}, ["dep a.py: modified", "dep b: deleted"]),
        (
            {"changed deps": {"params.yaml": {"engine.dtype": "new", "suites": "modified"}}},
            ["dep params.yaml: engine.dtype, suites"],
        ),
        ({"changed outs": {"made/x": "not in cache"}}, ["out made/x: not in cache"]),
    ],
)
def test_why_a_stage_is_stale_is_dvcs_word(entry: Any, why: list[str]) -> None:
    stage = next(one for one in states(rendered(PIPELINE, SETTINGS), {"make@x": [entry]}) if one.name == "make@x")
    assert stage.why == why


def test_dvc_sees_the_same_stages_and_what_it_cannot_say_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"dvc status failed: .*not inside of a DVC repository"):
        read_status()
    profile = load_profile(ROOT / "profiles/a100.yaml")
    (tmp_path / "dvc.yaml").write_bytes((ROOT / "dvc.yaml").read_bytes())
    (tmp_path / "params.yaml").write_text(render(profile, Path("profiles/a100.yaml")), "utf-8")
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = true\n")
    dvc = [sys.executable, "-m", "dvc", "stage", "list", "--name-only"]
    listed = subprocess.run(dvc, check=True, capture_output=True, text=True).stdout.split()
    assert [stage.name for stage in rendered(read_pipeline(), profile.model_dump(mode="json"))] == listed
