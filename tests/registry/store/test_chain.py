"""A break anywhere between the decision and the responses is refused, and the file is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import InputError, file_sha256
from pipelines.layout import Layout
from registry.store.load import load_bundle
from tests.registry.store.fake_run import FakeRun

OTHER = "f" * 64


@pytest.fixture
def run(tmp_path: Path) -> FakeRun:
    made = FakeRun(Layout(tmp_path / "local"), {"qa": [("awq-int4", "PASS"), ("bf16", "PASS")]})
    made.write()
    return made


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def rechain(run: FakeRun) -> None:
    """Write the decision again over what lies there, so that only the break in question is left."""
    run.layout.decision.write_text(run.decision().model_dump_json())


def test_a_whole_run_is_accepted_with_everything_it_was_made_from(run: FakeRun) -> None:
    bundle = load_bundle(run.layout.root)
    assert sorted(bundle.artifacts) == sorted(
        path.relative_to(run.layout.root).as_posix()
        for path in run.layout.root.rglob("*")
        if path.suffix in (".json", ".md") and "tokenizer" not in path.parts
    )
    assert bundle.judge_version == "1"
    assert sorted(bundle.engines) == ["awq-int4", "baseline-again", "bf16", "fp8"]


@pytest.mark.parametrize(
    "path",
    [
        "comparisons/fp8.json",
        "comparisons/baseline-again.json",
        "engine/awq-int4.json",
        "engine/baseline-again.json",
        "checkpoints/fp8/manifest.json",
        "verdicts/bf16/qa.jsonl",
        "verdicts/fp8/qa.jsonl",
        "responses/bf16/qa.jsonl",
        "responses/baseline-again/qa.jsonl",
    ],
)
def test_a_changed_or_missing_file_is_named(run: FakeRun, path: str) -> None:
    file = run.layout.root / path
    text = file.read_text()
    file.write_text(text + "\n" if path.endswith(".json") else text.replace("qa-001", "qa-002"))
    with pytest.raises(InputError, match=rf"^{path}: its SHA-256 is"):
        load_bundle(run.layout.root)
    file.unlink()
    with pytest.raises(InputError, match=rf"{path}.*no such (file|manifest)"):
        load_bundle(run.layout.root)


@pytest.mark.parametrize("path", ["comparisons/awq-int4.json", "engine/fp8.json", "checkpoints/bf16/manifest.json"])
def test_what_the_decision_does_not_name_is_refused(run: FakeRun, path: str) -> None:
    edit(run.layout.decision, lambda record: record["inputs"].pop(path))
    with pytest.raises(InputError, match=path):
        load_bundle(run.layout.root)


@pytest.mark.parametrize("path", ["verdicts/bf16/qa.jsonl", "verdicts/fp8/qa.jsonl", "engine/bf16.json"])
def test_what_a_comparison_does_not_name_is_refused(run: FakeRun, path: str) -> None:
    edit(run.layout.comparison("fp8"), lambda record: record["inputs"].pop(path))
    rechain(run)
    with pytest.raises(InputError, match=rf"^comparisons/fp8.json: its inputs do not name {path}"):
        load_bundle(run.layout.root)


BROKEN: dict[str, tuple[str, Callable[[dict[str, Any]], Any], str]] = {
    "an engine that served other weights": (
        "engine/fp8.json",
        lambda record: record.update(weights_digest=OTHER),
        "it served other weights",
    ),
    "a noise floor run on other weights than the baseline's": (
        "engine/baseline-again.json",
        lambda record: record.update(weights_digest=OTHER),
        "it served other weights",
    ),
    "an engine of another execution class": (
        "engine/fp8.json",
        lambda record: record["execution"].update(linear_kernel="Other"),
        "it ran in another execution class",
    ),
    "an engine record under another run's name": (
        "engine/fp8.json",
        lambda record: record.update(run="awq-int4"),
        "it is run awq-int4",
    ),
    "an engine record without responses": (
        "engine/fp8.json",
        lambda record: record.update(responses={}),
        "it names no responses",
    ),
    "a comparison under another run's name": (
        "comparisons/fp8.json",
        lambda record: record.update(candidate="awq-int4"),
        "its inputs do not name engine/awq-int4.json",
    ),
    "a manifest of other weights": (
        "checkpoints/fp8/manifest.json",
        lambda record: record.update(weights_digest=OTHER),
        "its weights .* are not the decision's",
    ),
    "a manifest whose digest is not that of its files": (
        "checkpoints/fp8/manifest.json",
        lambda record: record["files"].update({"model.safetensors": OTHER}),
        "its weights digest is not that of its files",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_records_that_do_not_belong_together_are_named(run: FakeRun, case: str) -> None:
    path, change, message = BROKEN[case]
    edit(run.layout.root / path, change)
    for name in ("awq-int4", "fp8", "baseline-again"):  # the digests are right: the contents are not
        edit(run.layout.comparison(name), lambda record: record.update(inputs=digests(run, record["inputs"])))
    rechain(run)
    with pytest.raises(InputError, match=rf"^{path}: {message}"):
        load_bundle(run.layout.root)


def digests(run: FakeRun, paths: dict[str, str]) -> dict[str, str]:
    return {path: file_sha256(run.layout.root / path) for path in paths}


def test_verdicts_of_two_judges_are_refused(run: FakeRun) -> None:
    file = run.layout.verdicts("fp8", "qa")
    file.write_text(file.read_text().replace('"judge_version":"1"', '"judge_version":"0"'))
    edit(run.layout.comparison("fp8"), lambda record: record.update(inputs=digests(run, record["inputs"])))
    rechain(run)
    with pytest.raises(InputError, match=r"judged by versions 0, 1"):
        load_bundle(run.layout.root)
