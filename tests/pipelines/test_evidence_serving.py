"""Publishing a run's records: load profiles go along where there are any."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.records import write_record
from pipelines.evidence import collect
from pipelines.layout import Layout
from pipelines.profiles import Profile
from tests.pipelines.report_material import material, write
from tests.registry.load_records import unmeasured

LAYOUT = Layout.of("demo")


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """A whole run below the current folder, its load not measured."""
    monkeypatch.chdir(tmp_path)
    made = write(material())
    others = [LAYOUT.source, LAYOUT.report, LAYOUT.report_html, LAYOUT.report_xml, LAYOUT.promotion]
    for path in [*others, LAYOUT.calibration, LAYOUT.attempts, Path("dvc.lock"), Path("params.yaml")]:
        path.write_text("made by the test")
    return made


def test_evidence_without_load_profiles_has_no_folder_of_them(profile: Profile) -> None:
    target = collect(profile)
    assert (target / "engine/bf16.json").is_file()
    assert not (target / "serving").exists()


def test_load_profiles_are_copied_byte_for_byte_and_vanish_with_the_run_s(profile: Profile) -> None:
    for variant in ("bf16", "fp8"):
        write_record(LAYOUT.serving(variant), unmeasured(variant))
    target = collect(profile)
    assert sorted(path.name for path in (target / "serving").iterdir()) == ["bf16.json", "fp8.json"]
    assert (target / "serving/fp8.json").read_bytes() == LAYOUT.serving("fp8").read_bytes()
    LAYOUT.serving("fp8").unlink()
    assert sorted(path.name for path in (collect(profile) / "serving").iterdir()) == ["bf16.json"]
