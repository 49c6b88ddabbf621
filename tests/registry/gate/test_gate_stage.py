"""The stages compare and gate on files: what they write, what they refuse, and every exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsets.items import Suite
from evalsets.records import read_record, write_record, write_rows
from judges.verdicts import Verdict
from pipelines import compare as compare_stage
from pipelines import gate as gate_stage
from registry.evidence import Comparison
from registry.gate.decision import Decision
from tests.registry.gate.evidence_builders import (
    PROFILE,
    SHA,
    baseline_verdicts,
    candidate_verdicts,
    engine,
    ids,
    noninferiority_gate,
)

REPOSITORY = Path(__file__).parents[3]
RUNS = {"bf16": "bf16", "fp8": "fp8", "baseline-again": "bf16"}
SIZES: dict[Suite, int] = {"qa": 100, "tools": 180}


def write_profile(require: str = "fp8", **gate: Any) -> None:
    settings = yaml.safe_load((REPOSITORY / "profiles" / "local.yaml").read_text("utf-8"))
    scene = {"traffic_share": 1.0, "candidates": ["fp8", "bf16"], "require": require}
    settings |= {
        "profile": PROFILE,
        "variants": {name: {"recipe": f"{name}.yaml"} for name in ("bf16", "fp8")},
        "suites": {suite: {"path": f"{suite}.jsonl"} for suite in SIZES},
        "policy": {
            "baseline": "bf16",
            "scenes": {"tools": scene | {"gates": [noninferiority_gate(**{"margin_pp": 5.0} | gate)]}},
        },
    }
    Path("params.yaml").write_text(yaml.safe_dump(settings), "utf-8")


def write_suites() -> None:
    common = {"cluster": "c", "split": "release", "lang": "en", "messages": [{"role": "user", "content": "?"}]}
    qa = {"domain": "service", "answers": ["1"], "match": {"kind": "exact", "normalisers": []}}
    tools = {"domain": "tools", "toolset": "t", "expect": "no_call"}
    fields: dict[Suite, dict[str, Any]] = {"qa": qa, "tools": tools}
    for suite, n in SIZES.items():
        rows = [
            common | fields[suite] | {"id": item_id, "must_pass": item_id.endswith("0")} for item_id in ids(suite, n)
        ]
        Path(f"{suite}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_run(run: str, verdicts: dict[Suite, list[Verdict]]) -> None:
    root = Path("runs") / PROFILE
    write_record(root / "engine" / f"{run}.json", engine(run, RUNS[run]))
    for suite, rows in verdicts.items():
        write_rows(root / "verdicts" / run / f"{suite}.jsonl", rows)


def write_manifest(variant: str) -> None:
    manifest: dict[str, object] = {
        "variant": variant,
        "backend": "passthrough",
        "base_repo": "base",
        "base_revision": "1",
        "base_digest": SHA["bf16"],
        "recipe": "recipe.yaml",
        "recipe_text": "",
        "recipe_sha256": SHA["other"],
        "calibration_sha256": None,
        "weight_bits": 16,
        "activation_bits": 16,
        "scheme": "none",
        "versions": {},
        "device": "cpu",
        "warnings": [],
        "skipped_mappings": 0,
        "awq_error": {},
        "files": {},
        "weights_digest": SHA[variant],
        "weight_bytes": 1,
        "wall_s": 0.0,
    }
    path = Path("runs") / PROFILE / "checkpoints" / variant / "manifest.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(manifest), "utf-8")


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a profile, suites and three runs in which fp8 PASSes; the stages run in it."""
    monkeypatch.chdir(tmp_path)
    write_profile()
    write_suites()
    write_run("bf16", {suite: baseline_verdicts(suite, n) for suite, n in SIZES.items()})
    write_run("fp8", {suite: candidate_verdicts(suite, n, 1) for suite, n in SIZES.items()})
    write_run("baseline-again", {suite: candidate_verdicts(suite, n, same_text=True) for suite, n in SIZES.items()})
    for variant in ("bf16", "fp8"):
        write_manifest(variant)
    write_rows(tmp_path / "runs" / PROFILE / "attempts.jsonl", [])
    return tmp_path / "runs" / PROFILE


def compare_all() -> None:
    for run in ("fp8", "baseline-again"):
        compare_stage.main(["--run", run])


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
