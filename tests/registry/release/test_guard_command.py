"""`python -m registry guard`: what it prints and writes, its exit codes, and that bad input leaves nothing behind."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsets.records import InputError, file_sha256
from registry.release import commands
from registry.release.canary import Canary
from registry.release.proposal import Proposal

GUIDE = Path(__file__).parents[3] / "docs" / "guard.md"
HEADER = "window,variant,sessions,complaints\n"
FINE = HEADER + "2026-03-01,bf16,9000,90\n2026-03-01,awq-int4,3000,33\n"
ALARM = HEADER + "2026-03-01,bf16,9000,90\n2026-03-01,awq-int4,3000,78\n"


def guard(counts: Path, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    commands.add_to(parser.add_subparsers(required=True))
    given = parser.parse_args(
        ["guard", str(counts), "--baseline", "bf16", "--candidate", "awq-int4", "--share", "0.25", *arguments]
    )
    code: int = given.run(given)
    return code


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    path.write_text(ALARM)
    return path


def release(folder: Path, **values: Any) -> Path:
    path = folder / "release.yaml"
    path.write_text(yaml.safe_dump({"scene": "qa", "served": {"variant": "awq-int4"}} | values))
    return path


def test_an_alarm_ends_with_4_and_writes_lowered_shares(
    counts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "proposal.yaml"
    assert guard(counts, "--out", str(out)) == 4
    written = Proposal.model_validate(yaml.safe_load(out.read_bytes()))
    assert written.shares == {"bf16": 0.9, "awq-int4": 0.1}
    assert written.release_sha256 is None
    printed = capsys.readouterr().out
    assert written.reason in printed and "25 % -> 10 %" in printed
    assert [path.name for path in out.parent.iterdir()] == ["proposal.yaml"]


def test_no_alarm_ends_with_0_and_the_same_input_gives_the_same_bytes(counts: Path, tmp_path: Path) -> None:
    counts.write_text(FINE)
    for name in ("one.yaml", "two.yaml"):
        assert guard(counts, "--out", str(tmp_path / name)) == 0
    assert (tmp_path / "one.yaml").read_bytes() == (tmp_path / "two.yaml").read_bytes()
    assert yaml.safe_load((tmp_path / "one.yaml").read_text())["shares"] == {"bf16": 0.75, "awq-int4": 0.25}


def test_without_out_nothing_is_written(counts: Path, tmp_path: Path) -> None:
    assert guard(counts) == 4
    assert list(tmp_path.iterdir()) == [counts]


def test_bad_rows_leave_no_proposal_and_an_older_one_alone(counts: Path, tmp_path: Path) -> None:
    counts.write_text(ALARM + "2026-03-02,bf16,10,11\n2026-03-03,bf16,-1,0\n")
    out = tmp_path / "proposal.yaml"
    out.write_text("older")
    with pytest.raises(InputError, match=f"{re.escape(str(counts))}:4: .*\n.*:5: "):
        guard(counts, "--out", str(out))
    assert out.read_text() == "older"


def test_rows_of_other_variants_are_said_to_be_left_out(counts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts.write_text(FINE + "2026-03-01,fp8,10,1\n")
    assert guard(counts) == 0
    assert "left out: rows of fp8" in capsys.readouterr().out


def test_the_plan_is_the_releases(counts: Path, tmp_path: Path) -> None:
    plan = Canary.model_validate({"guardrail": {"margin_pp": 3.0}}).model_dump(mode="json")
    path, out = release(tmp_path, canary=plan), tmp_path / "proposal.yaml"
    assert guard(counts, "--release", str(path), "--out", str(out)) == 0
    written = Proposal.model_validate(yaml.safe_load(out.read_bytes()))
    assert (written.scene, written.guardrail.margin_pp) == ("qa", 3.0)
    assert written.release_sha256 == file_sha256(path)


def test_guardrails_beside_the_plan_count(counts: Path, tmp_path: Path) -> None:
    assert guard(counts, "--release", str(release(tmp_path, canary={}))) == 4
    assert guard(counts, "--release", str(release(tmp_path, canary={}, guardrails={"margin_pp": 3.0}))) == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "no canary plan"),
        ({"canary": None}, "no canary plan"),
        ({"canary": {"steps": []}}, "canary: steps"),
        ({"canary": {"pace": 1}}, "unknown key pace"),
        ({"canary": {}, "guardrails": {"margin_pp": -1}}, "canary: guardrail.margin_pp"),
        ({"canary": {"guardrail": {"alpha": 0.1}}, "guardrails": {"alpha": 0.05}}, "differ; keep one"),
        ({"canary": {}, "served": {"variant": "fp8"}}, "releases fp8, not awq-int4"),
        ({"canary": {}, "scene": 7}, "scene: 7 is no name"),
    ],
)
def test_a_release_that_does_not_fit_is_refused(
    counts: Path, tmp_path: Path, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        guard(counts, "--release", str(release(tmp_path, **values)))


def test_files_that_cannot_be_used_are_refused(counts: Path, tmp_path: Path) -> None:
    broken, other, latin = tmp_path / "release.yaml", tmp_path / "counts.xlsx", tmp_path / "latin.csv"
    broken.write_text("canary: [")
    latin.write_bytes(HEADER.encode() + "2026-03-01,bf16é,1,0\n".encode("latin-1"))
    for path, arguments, message in [
        (counts, ["--release", str(broken)], "not YAML"),
        (counts, ["--release", str(tmp_path / "none.yaml")], "No such file"),
        (tmp_path / "none.csv", [], "No such file"),
        (other, [], "neither .csv nor .jsonl"),
        (latin, [], "not UTF-8"),
        (counts, ["--out", str(counts)], "would replace what it is made from"),
    ]:
        with pytest.raises(InputError, match=message):
            guard(path, *arguments)
    assert counts.read_text() == ALARM


def test_the_guides_example_prints_what_the_guide_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guide = GUIDE.read_text()
    example = re.search(r"```csv\n(.*?)```", guide, re.DOTALL)
    shown = re.search(r"```text\n(.*?)```", guide, re.DOTALL)
    assert example is not None and shown is not None
    path = tmp_path / "counts.csv"
    path.write_text(example[1])
    assert guard(path) == 4
    assert capsys.readouterr().out == shown[1]


def test_the_help_says_what_to_feed_and_how_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    commands.add_to(parser.add_subparsers(required=True))
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["guard", "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "window,variant,sessions,complaints" in text and "4 the candidate's share is lowered" in text
