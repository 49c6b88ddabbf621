"""The commands on a small log: what they print, write and exit with."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.serving.__main__ import main
from pipelines.serving.request_log import LogSource, read_log
from tests.pipelines.serving.serving_material import ROOT


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def generate(folder: Path, checkpoint: Path, *flags: str) -> str:
    path = folder / "log.jsonl"
    command = ["generate", "--checkpoint", str(checkpoint), "--out", str(path), "--requests", "120", "--rate", "0.4"]
    assert main([*command, *flags]) == 0
    return str(path)


def rows(printed: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if line[:1] == "|"]


def test_generate_then_analyse_then_simulate(
    tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = generate(tmp_path, checkpoint)
    assert len(list(read_log(LogSource(log)))) == 120
    assert main(["analyse", log, "--checkpoint", str(checkpoint)]) == 0
    table = rows(capsys.readouterr().out)
    assert [row[:2] for row in table[2:3]] == [["all", "120"]]
    plot = tmp_path / "routing.svg"
    command = [
        "simulate",
        log,
        "--checkpoint",
        str(checkpoint),
        "--kv-tokens",
        "200000",
        "--plot",
        str(plot),
        "--events",
    ]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert [row[0] for row in rows(printed)][2:6] == ["random", "tenant-scene", "scene-bounded", "cache-aware"]
    assert "a replica joins, its cache cold" in printed and "4 replicas of 200,000 KV tokens" in printed
    assert plot.read_text().startswith("<svg ")


def test_lint_passes_a_canonical_log_and_fails_a_stamped_one(
    tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = generate(tmp_path, checkpoint)
    assert main(["lint", log, "--checkpoint", str(checkpoint)]) == 0
    assert "no faults" in capsys.readouterr().out
    log = generate(tmp_path, checkpoint, "--stamp", "system", "--shuffle", "tools")
    assert main(["lint", log, "--checkpoint", str(checkpoint), "--kv-tokens", "200000"]) == 1
    faults = [row[0] for row in rows(capsys.readouterr().out)]
    assert faults.count("time") == 2 and faults.count("unsorted_tools") == 2
    assert main(["lint", log, "--checkpoint", str(checkpoint), "--no-cost"]) == 1
    assert "simulated" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyse", "nowhere.jsonl", "--checkpoint", "CHECKPOINT"], "no such log"),
        (["analyse", "nowhere.jsonl", "--checkpoint", "nowhere"], "no tokenizer.json"),
        (["analyse", "EMPTY", "--checkpoint", "CHECKPOINT"], "the log has no rows"),
        (["lint", "EMPTY", "--checkpoint", "CHECKPOINT"], "the log has no rows"),
        (["simulate", "EMPTY", "--checkpoint", "CHECKPOINT"], "the log has no rows"),
    ],
)
def test_input_that_cannot_be_used_is_one_line_and_a_2(
    tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "empty.jsonl").touch()
    places = {"CHECKPOINT": str(checkpoint), "EMPTY": str(tmp_path / "empty.jsonl")}
    assert main([places.get(word, word) for word in arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and message in said and said.count("\n") == 1


@pytest.mark.parametrize("flag", [("--block-size", "0"), ("--prefill-tok-s", "nan"), ("--replicas", "-1")])
def test_sizes_that_are_none_are_refused(flag: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["simulate", "x.jsonl", "--checkpoint", "x", *flag])
    assert caught.value.code == 2
