"""The stage: what it reads and writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.records import InputError, read_record, write_record
from pipelines.layout import Layout
from pipelines.profiles import Profile, render
from pipelines.report import main, report, summary
from pipelines.reporting.page import MAX_BYTES
from registry.gate.decision import Decision
from tests.pipelines.report_material import material, write

LAYOUT = Layout.of("demo")


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """A finished run below the current folder, and its profile in params.yaml."""
    monkeypatch.chdir(tmp_path)
    found = write(material("内容 <b>"))
    Path("params.yaml").write_text(render(found, Path("profiles/demo.yaml")), "utf-8")
    return found


def test_the_report_is_made_from_what_lies_on_the_disk(profile: Profile) -> None:
    main([])
    text = LAYOUT.report.read_text("utf-8")
    assert text.startswith("# Quantization report: demo\n")
    assert "\n内容 <b> ⟦wrong in fp8⟧\n" in text
    assert "| `comparisons/baseline-again.json` |" in text
    assert len(text.encode()) <= MAX_BYTES
    first = LAYOUT.report.read_bytes()
    report(profile)
    assert LAYOUT.report.read_bytes() == first


def test_the_summary_prints_and_writes_nothing(profile: Profile, capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    main(["--summary"])
    shown = capsys.readouterr().out
    assert "report: runs/demo/report.md\n" in shown
    assert shown.endswith("exit code of the decision: 0, no scene requires a candidate: a release may go ahead\n")
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_the_summary_points_to_no_report_that_is_not_there(profile: Profile) -> None:
    with pytest.raises(InputError, match=r"report\.md: no such file; run the report stage"):
        summary(profile)


@pytest.mark.parametrize("arguments", [[], ["--summary"]])
def test_no_decision_is_one_line_and_a_2(
    profile: Profile, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    LAYOUT.decision.unlink()
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: {LAYOUT.decision}: no such file")


@pytest.mark.parametrize("path", [LAYOUT.responses("fp8", "tools"), LAYOUT.verdicts("fp8", "qa"), LAYOUT.engine("fp8")])
def test_evidence_that_does_not_belong_together_is_refused(profile: Profile, path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"fp8", b"fp9").replace(b'"run":0', b'"run":1'))
    with pytest.raises(InputError, match="run the stages again"):
        report(profile)
    assert not LAYOUT.report.exists()


def test_another_suite_than_the_one_asked_is_refused(profile: Profile) -> None:
    path = Path(profile.suites["qa"].path)
    path.write_text(path.read_text("utf-8").replace("42", "43"), "utf-8")
    with pytest.raises(InputError, match=r"qa\.jsonl: not the suite that .* was asked"):
        report(profile)


@pytest.mark.parametrize("work", [report, summary])
def test_a_decision_under_another_policy_is_refused(profile: Profile, work: object) -> None:
    other = read_record(LAYOUT.decision, Decision).model_copy(update={"policy_sha256": "0" * 64})
    write_record(LAYOUT.decision, other)
    assert callable(work)
    with pytest.raises(InputError, match="decided under another policy"):
        work(profile)
