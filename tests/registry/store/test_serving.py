"""Load profiles beside a decision: what is read, what is refused, and what the registry shows of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import InputError, write_record
from registry.load_profile import LoadProfile, Saturation
from registry.store.evaluation import evaluation
from registry.store.load import load_bundle
from registry.store.load_numbers import OVER, WITHIN, cold_open, load_metrics, load_params, representative, saturated
from registry.store.measurement import measurement
from registry.store.mlflow_store import Store
from registry.store.serving import serving_sha256
from tests.registry.load_records import cell, faster, load_profile, serving, unmeasured
from tests.registry.store.fake_run import FakeRun
from tests.registry.store.probe import artifacts, make_small, promoted, runs_of

OTHER = "f" * 64


def profile_of(run: FakeRun, variant: str, **changes: Any) -> LoadProfile:
    execution = load_bundle(run.layout.root).decision.executions[variant]
    return load_profile(variant, run.weights(variant), execution, **changes)


@pytest.fixture
def run(tmp_path: Path) -> FakeRun:
    """bf16 was measured under load, fp8 says why it was not."""
    made = make_small(tmp_path)
    write_record(made.layout.serving("bf16"), serving(profile_of(made, "bf16")))
    write_record(made.layout.serving("fp8"), unmeasured("fp8"))
    return made


def test_what_lies_there_is_read_and_becomes_an_artifact(run: FakeRun) -> None:
    bundle = load_bundle(run.layout.root)
    assert bundle.serving == {"bf16": serving(profile_of(run, "bf16")), "fp8": unmeasured("fp8")}
    assert list(bundle.loads) == ["bf16"]
    assert {path for path in bundle.artifacts if "serving" in path} == {"serving/bf16.json", "serving/fp8.json"}


def test_evidence_without_the_folder_or_with_one_file_is_whole(run: FakeRun) -> None:
    run.layout.serving("fp8").unlink()
    assert list(load_bundle(run.layout.root).serving) == ["bf16"]
    run.layout.serving("bf16").unlink()
    bundle = load_bundle(run.layout.root)
    assert (bundle.serving, bundle.loads) == ({}, {})
    assert not [path for path in bundle.artifacts if "serving" in path]


def test_a_file_of_a_variant_that_the_decision_does_not_know_is_not_read(run: FakeRun) -> None:
    run.layout.serving("int3").write_text("{")
    assert "int3" not in load_bundle(run.layout.root).serving


def test_a_load_profile_changes_no_decision(run: FakeRun) -> None:
    before = load_bundle(run.layout.root).decision
    run.layout.serving("bf16").unlink()
    assert load_bundle(run.layout.root).decision == before


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("other weights", {"weights_digest": OTHER}, f"it loaded weights {OTHER}, the decision tested"),
    ("another profile", {"profile": "a100"}, "it is of profile a100, the decision of local"),
    ("another variant", {"variant": "fp8"}, "it is about fp8, not bf16"),
]


@pytest.mark.parametrize(("changes", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_load_profile_of_something_else_is_refused(run: FakeRun, changes: dict[str, Any], says: str) -> None:
    other = profile_of(run, "bf16").model_copy(update=changes)
    write_record(run.layout.serving("bf16"), serving(other).model_copy(update={"variant": "bf16"}))
    with pytest.raises(InputError) as refused:
        load_bundle(run.layout.root)
    assert str(refused.value).startswith(f"serving/bf16.json: {says}")
    assert "measure the load again (dvc repro), or remove the file" in str(refused.value)


@pytest.mark.parametrize("field", ["device", "linear_kernel", "weight_bits", "note"])
def test_another_execution_class_is_refused(run: FakeRun, field: str) -> None:
    good = profile_of(run, "bf16")
    execution = good.execution.model_copy(update={field: 4 if field == "weight_bits" else "other"})
    write_record(run.layout.serving("bf16"), serving(good.model_copy(update={"execution": execution})))
    with pytest.raises(InputError, match=r"serving/bf16\.json: it ran in another execution class than the decision's"):
        load_bundle(run.layout.root)


def test_a_file_that_cannot_be_read_is_named(run: FakeRun) -> None:
    run.layout.serving("fp8").write_text('{"variant": "fp8"}')
    with pytest.raises(InputError, match=r"serving/fp8\.json: load: Field required"):
        load_bundle(run.layout.root)


def test_a_cell_within_the_budget_stands_for_the_profile_else_the_lowest_cold_rate() -> None:
    load = load_profile("bf16", OTHER)
    assert [one.rate for one in cold_open(load)] == [1.0, 2.0, 4.0]
    assert representative(load) == load.cells[1]
    over = load.model_copy(update={"cells": [cell(4.0, 9000), cell(2.0, 3000), cell(1.0, 100, cache="warm")]})
    assert representative(over) == over.cells[1]
    assert (load_metrics(load)["load/within_budget"], load_metrics(over)["load/within_budget"]) == (1, 0)
    assert (load_params(load)["load/cell"], load_params(over)["load/cell"]) == (WITHIN, OVER)


def test_the_metrics_are_those_of_that_cell_and_of_saturation() -> None:
    found = load_metrics(load_profile("bf16", OTHER))
    assert found == {
        "load/saturation_concurrency": 8,
        "load/saturation_requests_s": 4.0,
        "load/within_budget": 1,
        "load/offered_requests_s": 2.0,
        "load/requests_s": 2.0,
        "load/output_tok_s": 100.0,
        "load/computed_tok_s": 200.0,
        "load/hit_rate": 0.25,
        "load/kv_use_peak": 0.5,
        "load/preemptions": 0,
        "load/failed": 0,
        "load/goodput": 2.0,
        "load/tail_quantile": 0.95,
        "load/ttft_p_ms": 500.0,
        "load/itl_p_ms": 40.0,
        "load/e2e_p_ms": 4500.0,
    }


def test_nothing_is_made_up_where_a_cell_is_missing() -> None:
    load = load_profile("bf16", OTHER, cells=[], saturation=Saturation(concurrency=8, cells=[]))
    assert saturated(load) is None
    assert load_metrics(load) == {"load/saturation_concurrency": 8}
    assert load_params(load)["load/cell"] == "none"
    silent = load.model_copy(update={"cells": [cell(1.0).model_copy(update={"latency": {}})]})
    assert "load/ttft_p_ms" not in load_metrics(silent)


def test_only_a_variant_that_was_measured_has_them(run: FakeRun) -> None:
    bundle = load_bundle(run.layout.root)
    named = {name: measurement(name, bundle) for name in ("bf16", "fp8", "baseline-again")}
    assert named["bf16"].metrics["load/output_tok_s"] == 100.0
    assert named["bf16"].params["load/hardware"] == "test chip, 2 cores, no accelerator"
    assert named["bf16"].params["load/flags"].startswith("max-num-batched-tokens 2048, max-num-seqs 16")
    for other in ("fp8", "baseline-again"):
        assert not [name for name in {**named[other].metrics, **named[other].params} if name.startswith("load")]


def test_load_measured_again_is_recorded_beside_what_was(store: Store, run: FakeRun) -> None:
    promoted(store, run)
    promoted(store, run)
    (first,) = runs_of(store, "evaluations")
    assert set(artifacts(store, first)) > {"serving/bf16.json", "serving/fp8.json"}
    write_record(run.layout.serving("bf16"), serving(faster(profile_of(run, "bf16"), 2)))
    promoted(store, run)
    _, second = runs_of(store, "evaluations")
    measured = [one for one in runs_of(store, "measurements") if one.data.tags["run"] == "bf16"]
    assert [one.data.metrics["load/output_tok_s"] for one in measured] == [100.0, 200.0]
    assert measured[1].data.tags["mlflow.parentRunId"] == second.info.run_id


def test_the_digest_of_all_load_profiles_tells_them_apart(run: FakeRun) -> None:
    bundle = load_bundle(run.layout.root)
    assert evaluation(bundle).serving_sha256 == serving_sha256(bundle.serving)
    assert serving_sha256({}) == evaluation(replace(bundle, serving={})).serving_sha256 == ""
    assert serving_sha256({"fp8": bundle.serving["fp8"]}) != serving_sha256(bundle.serving)
