"""The stages compare and gate on files: what they write, what they refuse, and every exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import read_record, write_rows
from pipelines import compare as compare_stage
from pipelines import gate as gate_stage
from registry.evidence import Comparison
from registry.gate.decision import Decision
from tests.registry.gate.evidence_builders import (
    SHA,
    candidate_verdicts,
    ids,
)
from tests.registry.gate.gate_workplace import REPOSITORY, compare_all, write_profile, write_run


def test_compare_names_every_file_it_was_made_from(workplace: Path) -> None:
    compare_stage.main(["--run", "fp8"])
    found = read_record(workplace / "comparisons" / "fp8.json", Comparison)
    assert (found.baseline, found.candidate, found.mismatches) == ("bf16", "fp8", [])
    assert found.inputs.keys() == {
        f"{kind}/{run}{rest}"
        for run in ("bf16", "fp8")
        for kind, rest in [("engine", ".json"), ("verdicts", "/qa.jsonl"), ("verdicts", "/tools.jsonl")]
    }
    assert found.suites["qa"].must_pass == [item_id for item_id in ids("qa", 100) if item_id.endswith("0")]


@pytest.mark.parametrize("run", ["fp9", "bf16"])
def test_compare_refuses_a_run_there_is_not(workplace: Path, run: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        compare_stage.main(["--run", run])
    assert caught.value.code == 2
    assert "allowed: fp8, baseline-again" in capsys.readouterr().err


def test_compare_names_the_items_that_are_missing(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(workplace / "verdicts" / "fp8" / "tools.jsonl", candidate_verdicts("tools", 180)[1:])
    with pytest.raises(SystemExit) as caught:
        compare_stage.main(["--run", "fp8"])
    assert caught.value.code == 2
    assert "verdicts of fp8, suite tools: lacks tools-0000 (179 of 180 items)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("losses", "not_judged", "code", "says"),
    [
        (1, 0, 0, "PASS         fp8"),
        (60, 0, 1, "FAIL         fp8"),
        (1, 2, 2, "2 of 180 items not judged"),
        (8, 0, 3, "INCONCLUSIVE fp8"),
    ],
)
def test_the_stage_records_and_check_exits_by_the_decision(
    workplace: Path, losses: int, not_judged: int, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = candidate_verdicts("tools", 180, losses, not_judged=not_judged)
    write_run("fp8", {"qa": candidate_verdicts("qa", 100), "tools": rows})
    compare_all()
    assert gate_stage.main([]) == 0
    assert read_record(workplace / "decision.json", Decision).exit_code == code
    assert gate_stage.main(["--check"]) == code
    printed = capsys.readouterr().out
    assert says in printed
    assert f"exit code {code}:" in printed


def test_the_decision_names_every_file_it_was_made_from(workplace: Path) -> None:
    compare_all()
    assert gate_stage.main([]) == 0
    decision = read_record(workplace / "decision.json", Decision)
    assert decision.inputs.keys() == {
        "attempts.jsonl",
        "comparisons/fp8.json",
        "comparisons/baseline-again.json",
        "engine/bf16.json",
        "engine/fp8.json",
        "engine/baseline-again.json",
        "checkpoints/bf16/manifest.json",
        "checkpoints/fp8/manifest.json",
    }
    assert decision.weights == {"bf16": SHA["bf16"], "fp8": SHA["fp8"]}


def test_check_refuses_a_decision_that_its_inputs_do_not_give(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compare_all()
    write_run("fp8", {"qa": candidate_verdicts("qa", 100), "tools": candidate_verdicts("tools", 180, 60)})
    gate_stage.main([])
    compare_stage.main(["--run", "fp8"])
    assert gate_stage.main(["--check"]) == 2
    assert "not what its inputs give now" in capsys.readouterr().err


def spoil_nothing_compared(root: Path) -> None:
    (root / "comparisons" / "fp8.json").unlink()


def spoil_nan(root: Path) -> None:
    (root / "engine" / "fp8.json").write_text('{"order_seed": NaN}', "utf-8")


def spoil_manifest(root: Path) -> None:
    path = root / "checkpoints" / "fp8" / "manifest.json"
    path.write_text(path.read_text("utf-8").replace(SHA["fp8"], SHA["other"]), "utf-8")


def spoil_manifest_key(root: Path) -> None:
    (root / "checkpoints" / "fp8" / "manifest.json").write_text("{}", "utf-8")


def spoil_manifest_file(root: Path) -> None:
    (root / "checkpoints" / "fp8" / "manifest.json").unlink()


def spoil_policy_key(root: Path) -> None:
    write_profile(margin=4)


def spoil_policy_nan(root: Path) -> None:
    write_profile(margin_pp=float("nan"))


def spoil_policy_margin(root: Path) -> None:
    write_profile(margin_pp=1.5)


def spoil_with_a_folder(root: Path) -> None:
    (root / "engine" / "fp8.json").unlink()
    (root / "engine" / "fp8.json").mkdir()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_nothing_compared, "comparisons/fp8.json: no such file; run the stage"),
        (spoil_nan, "engine/fp8.json: NaN is not a JSON number"),
        (spoil_manifest, "engine record of fp8: weights"),
        (spoil_manifest_key, "fp8/manifest.json: not a manifest"),
        (spoil_manifest_file, "fp8/manifest.json: no such manifest; run the quantize stage"),
        (spoil_policy_key, "margin"),
        (spoil_policy_nan, "margin_pp"),
        (spoil_policy_margin, "1.5 pp on 180 items passes a true loss of that size in 6.58 % of runs"),
        (spoil_with_a_folder, "the gate itself failed: IsADirectoryError"),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--check"]])
def test_broken_input_is_one_line_and_a_two(
    workplace: Path, spoil: Any, message: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    compare_all()
    gate_stage.main([])
    spoil(workplace)
    assert gate_stage.main(flags) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert message in printed.err


@pytest.mark.parametrize(("margin_pp", "strict_code"), [(5.0, 0), (4.0, 3)])
def test_explain_needs_no_run(
    workplace: Path, margin_pp: float, strict_code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    write_profile(margin_pp=margin_pp)
    assert gate_stage.main(["--explain"]) == 0
    assert gate_stage.main(["--explain", "--strict"]) == strict_code
    assert ("UNDECIDABLE" in capsys.readouterr().out) == (strict_code == 3)


def test_explain_refuses_an_unsound_gate(workplace: Path) -> None:
    write_profile(margin_pp=1.5)
    assert gate_stage.main(["--explain"]) == 2


@pytest.mark.parametrize("flags", [["--strict"], ["--check", "--explain"], ["--nonsense"]])
def test_flags_that_do_not_go_together(workplace: Path, flags: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        gate_stage.main(flags)
    assert caught.value.code == 2


def from_the_shell(*search_path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipelines.gate", "--check"]
    environment = {"PYTHONPATH": os.pathsep.join(map(str, [*search_path, REPOSITORY]))}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_the_command_line_ends_with_the_decisions_code(workplace: Path) -> None:
    write_run("fp8", {"qa": candidate_verdicts("qa", 100), "tools": candidate_verdicts("tools", 180, 60)})
    compare_all()
    gate_stage.main([])
    done = from_the_shell()
    assert (done.returncode, done.stderr) == (1, "")
    assert "fp8 on tools: FAIL, 60 losses, 0 gains of 180" in done.stdout


def test_a_program_that_cannot_start_does_not_look_like_a_verdict(workplace: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "scipy.py").write_text("raise ImportError('no scipy here')", "utf-8")
    done = from_the_shell(broken)
    assert done.returncode == 2
    assert done.stderr == "error: the gate itself failed: ImportError: no scipy here\n"
