"""Recomputing evidence that holds load profiles: they change no verdict, and must be of the tested weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evalsets.records import InputError, read_record, write_record
from pipelines.layout import Layout
from registry.gate.decision import Decision
from registry.load_profile import Serving
from registry.verify.recompute import Trusted, verify
from registry.verify.settings import read_settings
from tests.registry.load_records import load_profile, serving, unmeasured

PUBLISHED = Path("evidence/local")


def checked(evidence: Path) -> Decision:
    return verify(evidence, read_settings(evidence / "params.yaml"), Trusted(Path()), lambda _: None)


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """A copy of the published evidence, with a load profile of the baseline and a reason for having none of fp8."""
    copied = Path(shutil.copytree(PUBLISHED, tmp_path / "local"))
    shutil.rmtree(copied / "serving", ignore_errors=True)
    decision, layout = read_record(copied / "decision.json", Decision), Layout(copied)
    found = load_profile("bf16", decision.weights["bf16"], decision.executions["bf16"], profile=decision.profile)
    write_record(layout.serving("bf16"), serving(found))
    write_record(layout.serving("fp8"), unmeasured("fp8"))
    return copied


def test_evidence_verifies_with_load_profiles_and_without_them(evidence: Path) -> None:
    published = json.loads((PUBLISHED / "decision.json").read_text())
    assert checked(evidence).model_dump(mode="json") == published
    shutil.rmtree(evidence / "serving")
    assert checked(evidence).model_dump(mode="json") == published


def test_a_load_profile_of_other_weights_is_refused(evidence: Path) -> None:
    path = Layout(evidence).serving("bf16")
    load = read_record(path, Serving).load
    assert load is not None
    write_record(path, serving(load.model_copy(update={"weights_digest": "0" * 64})))
    with pytest.raises(InputError, match=r"serving/bf16\.json: it loaded weights 0{64}, the decision tested"):
        checked(evidence)
