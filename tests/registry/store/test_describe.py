"""Descriptions fit MLflow's columns whatever is to be said, and the tags are those that the documents explain."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.gate.decision import CandidateVerdict, GateResult, SceneDecision
from registry.store.bundle import Bundle
from registry.store.describe import DESCRIPTION_LIMIT, decision_note, version_description, version_tags
from registry.store.load import load_bundle
from tests.registry.store.probe import make_run

OPERATING = Path(__file__).parents[3] / "docs" / "operating.md"
REASONS = st.text(alphabet="ab|<&*_` 多", max_size=3000)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return load_bundle(make_run(tmp_path_factory.mktemp("run")).layout.root)


def with_scenes(bundle: Bundle, reasons: list[str], gates: int) -> Bundle:
    """The bundle with a scene for each reason, in which fp8 has so many gates."""
    scenes = []
    for number, reason in enumerate(reasons):
        found = [GateResult(test="new_losses", outcome="FAIL", reason=f"{reason}{gate}") for gate in range(gates)]
        verdict = CandidateVerdict(candidate="fp8", outcome="FAIL", reason=reason, gates=found)
        scenes.append(
            SceneDecision(scene=f"s{number}", chosen="bf16", reason=reason, require="none", candidates=[verdict])
        )
    return replace(bundle, decision=bundle.decision.model_copy(update={"scenes": scenes}))


@given(st.lists(REASONS, min_size=1, max_size=12), st.integers(0, 6))
def test_a_description_fits_and_names_every_verdict(bundle: Bundle, reasons: list[str], gates: int) -> None:
    told = version_description("fp8", with_scenes(bundle, reasons, gates))
    assert len(told) <= DESCRIPTION_LIMIT
    first = told.partition("\n")[0]
    assert first == f"fp8. {', '.join(f's{number} FAIL' for number in range(len(reasons)))}."
    assert all(f"| s{number} | **FAIL** |" in told for number in range(len(reasons)))


def test_a_reason_of_a_gate_is_not_said_twice(bundle: Bundle) -> None:
    told = version_description("fp8", with_scenes(bundle, ["too many"], 1))
    assert told.count("too many") == 2  # the verdict's, and the gate's own, which ends in its number
    scene = with_scenes(bundle, ["too many"], 1).decision.scenes[0]
    gate = scene.candidates[0].gates[0].model_copy(update={"reason": "too many"})
    same = scene.model_copy(update={"candidates": [scene.candidates[0].model_copy(update={"gates": [gate]})]})
    once = replace(bundle, decision=bundle.decision.model_copy(update={"scenes": [same]}))
    assert version_description("fp8", once).count("too many") == 1


def test_the_note_of_a_decision_says_what_serves_and_what_was_not_judged(bundle: Bundle) -> None:
    note = decision_note(bundle.decision)
    assert note.startswith("qa **fp8**, contract **bf16**. Exit code 0.\n")
    assert "| qa | awq-int4 | FAIL |" in note
    broken = bundle.decision.model_copy(update={"broken": ["qa: 3 unjudged"], "exit_code": 2})
    assert "Exit code 2. Not judged&#58; qa&#58; 3 unjudged." in decision_note(broken)


def test_the_document_explains_every_tag_of_a_version_and_no_other(bundle: Bundle) -> None:
    tags = {*version_tags("fp8", bundle), "decision_sha256", "evaluation_run"}
    kinds = {re.sub(r"\.(qa|contract)$", r".*", tag) for tag in tags}
    table = OPERATING.read_text().partition("## What each tag means")[2].partition("\n## ")[0]
    explained = [
        name
        for line in table.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([\w.*]+)`", line.split("|")[1])
    ]
    assert sorted(explained) == sorted(kinds)
