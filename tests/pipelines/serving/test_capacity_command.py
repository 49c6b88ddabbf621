"""The command for capacity, cost and offload: what it prints, what it refuses, and the page that shows it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pipelines.serving.__main__ import main
from tests.pipelines.serving.capacity_material import ROOT

A100 = ["--profile", "profiles/a100.yaml"]
LOCAL = ["--profile", "profiles/local.yaml"]


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["capacity", *LOCAL], "name the card to plan for (--card)"),
        (["capacity", *A100, "--input-tokens", "5"], "--input-tokens and --output-tokens go together"),
        (["capacity", *A100, "--card-gib", "40"], "--card-gib and --card-tflops go together"),
        (["capacity", *A100, "--config", "no.json"], "no.json: no such file"),
        (["capacity", *A100, "--tp", "0"], "tp is 0"),
        (["capacity", *A100, "--manifests", "nowhere"], "no such manifest"),
        (["capacity", *A100, "--lengths", "nowhere"], "nowhere: no such file"),
        (["cost", *A100, "--price", "1", "--serve", "qa=int3"], "--serve qa=int3: give SCENE=VARIANT"),
        (
            ["cost", *A100, "--price", "1", "--throughput", "bf16=240"],
            "--throughput bf16=240: give VARIANT=TOK/S:BASIS",
        ),
        (["cost", *A100, "--price", "1", "--throughput", "bf16=0:assumed"], "throughput is 0.0 tok/s"),
        (["cost", *A100, "--price", "-1", "--throughput", "bf16=9:assumed"], "price is -1.0"),
        (["offload", *A100, "--tokens", "0"], "tokens 0"),
    ],
)
def test_bad_input_is_one_line_and_a_2(
    argv: list[str], named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert named in error


def test_engine_flags_of_the_profile_are_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "profiles/a100.yaml").read_text("utf-8")
    flags = "[--tensor-parallel-size, '2', --gpu-memory-utilization=0.8, --kv-cache-dtype, fp8_e4m3]"
    profile = tmp_path / "a100.yaml"
    profile.write_text(text.replace("flags: []", f"flags: {flags}"), "utf-8")
    assert main(["capacity", "--profile", str(profile)]) == 0
    printed = capsys.readouterr().out
    assert "| cards per replica (tensor parallel) | 2 |" in printed
    assert "| utilisation | 0.8 |" in printed
    assert "| KV cache | fp8, blocks of 16 tokens |" in printed


def test_lengths_come_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    rows = [{"input_tokens": 1000 * n, "output_tokens": 100, "shared_tokens": 512} for n in range(1, 21)]
    (tmp_path / "lengths.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert main(["capacity", *A100, "--lengths", str(tmp_path / "lengths.jsonl"), "--prefixes", "2"]) == 0
    printed = capsys.readouterr().out
    assert "| shared prefixes in the cache | 1,024 tokens |" in printed
    assert "| p95 | 19,000 | 100 | 18,588 | 1 |" in printed


def test_no_column_mixes_bases(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    argv = ["capacity", *LOCAL, "--card", "a100-80g", "--manifests", "evidence/local/checkpoints"]
    assert main([*argv, "--input-tokens", "9", "--output-tokens", "9"]) == 0
    heads = re.findall(r"^\| (.+) \|\n\| ---", capsys.readouterr().out, re.MULTILINE)
    columns = [column for head in heads[1:] for column in head.split(" | ")]
    untagged = {"variant", "requests", "input", "output", "own tokens", "cards", "not possible because"}
    tags = [
        re.findall(r"measured|simulated|calculated|assumed", column) for column in columns if column not in untagged
    ]
    assert all(len(tag) == 1 for tag in tags)
    assert ["measured"] in tags


DOC = (ROOT / "docs" / "capacity.md").read_text("utf-8")
COMMANDS = re.findall(r"^    python -m pipelines\.serving ((?:.*\\\n)*.*)$", DOC, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_the_document_shows_what_the_command_prints(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(command.replace("\\\n", " ").split()) == 0
    assert capsys.readouterr().out.strip() in DOC


def test_every_table_of_the_document_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    for command in COMMANDS:
        main(command.replace("\\\n", " ").split())
    printed = capsys.readouterr().out.splitlines()
    assert len(COMMANDS) == 4
    assert not [line for line in DOC.splitlines() if line.startswith("|") and line not in printed]
