"""Promotion into a real MLflow database: what is written, once, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalsets.records import InputError, digest
from registry.store.apply import promote
from registry.store.load import load_bundle
from registry.store.mlflow_store import Store
from tests.registry.store.fake_run import FakeRun
from tests.registry.store.probe import (
    FP8,
    MODEL,
    NONE,
    artifacts,
    journal,
    make_run,
    make_small,
    promoted,
    runs_of,
    state,
    target,
    watch,
)


def test_the_first_promotion_registers_every_variant_and_moves_the_aliases(store: Store, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    decision = run.decision()
    moves, promotion = promote(load_bundle(run.layout.root), target(store, run))
    assert [move.alias for move in moves.moves] == ["qa-candidate", "qa", "contract"]
    assert {scene: held.variant for scene, held in promotion.scenes.items()} == {"qa": "fp8", "contract": "bf16"}
    assert promotion.scenes["qa"].weights_digest == decision.weights["fp8"]
    held = store.aliases(MODEL)
    assert {alias: version.tags["variant"] for alias, version in held.items()} == {
        "qa": "fp8",
        "qa-candidate": "awq-int4",
        "contract": "bf16",
    }
    assert promotion.scenes["qa"].version == held["qa"].number
    tags = held["qa"].tags
    assert {key: tags[key] for key in ("verdict.qa", "verdict.contract", "gate_eligible_hardware", "profile")} == {
        "verdict.qa": "PASS",
        "verdict.contract": "not a candidate",
        "gate_eligible_hardware": "cpu",
        "profile": "local",
    }
    assert "| qa | **PASS (chosen)** |" in held["qa"].description
    assert "| -1.50 pp |" in held["qa"].description


def test_a_version_of_a_database_names_its_checkpoint_by_path(store: Store, tmp_path: Path) -> None:
    run = make_small(tmp_path)
    number = promoted(store, run).scenes["qa"].version
    source = store.client.get_model_version(MODEL, str(number)).source
    assert source == str(run.layout.checkpoint("fp8").resolve())


def test_the_journal_says_from_to_scene_reason_and_decision(store: Store, tmp_path: Path) -> None:
    first, second = make_run(tmp_path / "1"), make_run(tmp_path / "2", NONE)
    promoted(store, first)
    promoted(store, second)
    fp8, bf16 = first.weights("fp8"), first.weights("bf16")
    written = [{key: tags[key] for key in ("alias", "from", "to", "scene", "to_variant")} for tags in journal(store)]
    assert written[1:] == [
        {"alias": "qa", "from": "none", "to": fp8, "scene": "qa", "to_variant": "fp8"},
        {"alias": "contract", "from": "none", "to": bf16, "scene": "contract", "to_variant": "bf16"},
        {"alias": "qa-previous", "from": "none", "to": fp8, "scene": "qa", "to_variant": "fp8"},
        {"alias": "qa", "from": fp8, "to": bf16, "scene": "qa", "to_variant": "bf16"},
    ]
    last = journal(store)[-1]
    assert last["decision_sha256"] == digest(second.decision())
    assert last["reason"] == "what served qa now fails: back to bf16, the baseline"


def test_the_evaluation_run_holds_numbers_and_files(store: Store, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    promoted(store, run)
    (found,) = runs_of(store, "evaluations")
    assert found.data.tags["decision_sha256"] == digest(run.decision())
    assert "| qa | **fp8** | measured |" in found.data.tags["mlflow.note.content"]
    assert found.data.params["chosen/qa"] == "fp8"
    metrics = found.data.metrics
    assert (metrics["accuracy_strict/qa/fp8"], metrics["accuracy_tolerant/qa/bf16"]) == (0.7, 0.8)
    assert (metrics["losses/qa/fp8"], metrics["gains/qa/fp8"]) == (2, 1)
    assert metrics["gate/qa/fp8/1-noninferiority/lower_pp"] == -1.5
    assert metrics["errors/qa/fp8/json_syntax.trailing_comma"] == metrics["headline/qa/fp8/json_syntax"] == 2
    files = artifacts(store, found)
    table = json.loads(files.pop("eval_results_table.json"))
    assert table["columns"] == ["suite", "item", "bf16", "awq-int4", "fp8", "baseline-again"]
    assert table["data"] == [["qa", "qa-001", "ok", "ok", "ok", "ok"]]
    assert set(files) == set(load_bundle(run.layout.root).artifacts)
    assert all(data == (run.layout.root / path).read_bytes() for path, data in files.items())


def test_each_measured_run_is_a_run_of_its_own_and_all_have_the_same_metrics(store: Store, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    promoted(store, run)
    (whole,) = runs_of(store, "evaluations")
    found = {each.data.tags["run"]: each for each in runs_of(store, "measurements")}
    assert set(found) == {"bf16", "awq-int4", "fp8", "baseline-again"}
    assert {each.data.tags["mlflow.parentRunId"] for each in found.values()} == {whole.info.run_id}
    fp8, bf16 = found["fp8"].data, found["bf16"].data
    assert fp8.metrics["qa/errors/json_syntax.trailing_comma"] == 2
    assert set(fp8.metrics) - set(bf16.metrics) == {"qa/losses", "qa/gains", "qa/identical"}
    assert (fp8.params["verdict/qa"], bf16.params["verdict/contract"]) == ("PASS", "PASS")
    files = artifacts(store, found["fp8"])
    assert set(files) == {"eval_results_table.json", "losses.json"}
    assert json.loads(files["eval_results_table.json"])["data"] == [["qa-001", "42 1", "ok", "", "qa"]]
    assert json.loads(fp8.tags["mlflow.loggedArtifacts"]) == [{"path": path, "type": "table"} for path in sorted(files)]


def test_a_second_promotion_writes_nothing(store: Store, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    promotion = promoted(store, run)
    before = state(store)
    watched = watch(store)
    assert promoted(store, run) == promotion
    assert watched.writes == []
    assert state(store) == before


def test_new_weights_are_a_new_version_and_known_ones_get_the_new_verdict(store: Store, tmp_path: Path) -> None:
    promoted(store, make_run(tmp_path / "1"))
    numbers = {version.tags["variant"]: version.number for version in store.aliases(MODEL).values()}
    run = make_run(tmp_path / "2", NONE)
    run.layout.checkpoint("awq-int4").joinpath("model.safetensors").write_text("made again")
    again = FakeRun(run.layout, NONE, build="2")
    again._checkpoint("awq-int4")
    for name in run.variants:
        again._answers(name)
    again._answers("baseline-again")
    for name in ("awq-int4", "fp8", "baseline-again"):
        again._comparison(name)
    run.layout.decision.write_text(again.decision().model_dump_json())
    promoted(store, again)
    held = store.aliases(MODEL)
    assert held["qa-candidate"].number > max(numbers.values())
    assert held["qa-previous"].number == numbers["fp8"]
    assert held["qa-previous"].tags["verdict.qa"] == "FAIL"
    assert len(store.client.search_model_versions(f"name = '{MODEL}'")) == 4


def test_a_verdict_of_a_scene_that_is_no_more_leaves_the_version(store: Store, tmp_path: Path) -> None:
    promoted(store, make_run(tmp_path / "1"))
    promoted(store, make_run(tmp_path / "2", {"qa": FP8["qa"]}))
    assert "verdict.contract" not in store.aliases(MODEL)["qa"].tags


TAMPERED = {
    "one byte changed": ("model.safetensors", b"fp8 2", "its SHA-256 is"),
    "a file added": ("extra.bin", b"x", "it was not there"),
    "a file missing": ("tokenizer/vocab.json", None, "it was tested, and is missing now"),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_other_weights_than_the_tested_are_refused_and_nothing_is_written(
    store: Store, tmp_path: Path, case: str
) -> None:
    name, data, message = TAMPERED[case]
    run = make_run(tmp_path)
    file = run.layout.checkpoint("fp8") / name
    file.unlink() if data is None else file.write_bytes(data)
    watched = watch(store)
    with pytest.raises(InputError, match=rf"checkpoints/fp8/{name}: {message}"):
        promoted(store, run)
    assert watched.writes == []


@pytest.mark.parametrize("case", TAMPERED)
def test_weights_that_were_written_to_are_refused_even_where_nothing_moves(
    store: Store, tmp_path: Path, case: str
) -> None:
    name, data, message = TAMPERED[case]
    run = make_run(tmp_path)
    promoted(store, run)
    file = run.layout.checkpoint("fp8") / name
    file.unlink() if data is None else file.write_bytes(data)
    watched = watch(store)
    with pytest.raises(InputError, match=rf"checkpoints/fp8/{name}: {message}"):
        promoted(store, run)
    assert watched.writes == []


def test_a_missing_checkpoint_is_refused(store: Store, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    bundle = load_bundle(run.layout.root)
    run.layout.checkpoint("fp8").rename(tmp_path / "away")
    with pytest.raises(InputError, match=r"checkpoints/fp8: no such checkpoint"):
        promote(bundle, target(store, run))


def test_only_what_a_move_or_a_new_version_needs_is_read_again(store: Store, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    said: list[str] = []
    bundle = load_bundle(run.layout.root)
    promote(bundle, target(store, run), said.append)
    assert [line.split()[1] for line in said] == ["bf16", "awq-int4", "fp8"]
    said.clear()
    promote(bundle, target(store, run), said.append)
    assert said == []


HARDWARE = [("cpu", "cpu", True), ("A100", "A100", True), ("A100", "cpu", False), ("cpu", "A100", False)]


@pytest.mark.parametrize(("first", "second", "allowed"), HARDWARE)
def test_evidence_from_other_hardware_than_the_models_is_refused(
    store: Store, tmp_path: Path, first: str, second: str, allowed: bool
) -> None:
    promoted(store, make_small(tmp_path / "1", device=first))
    run = make_small(tmp_path / "2", "FAIL", device=second)
    if allowed:
        assert promoted(store, run).scenes["qa"].variant == "bf16"
    else:
        with pytest.raises(InputError, match=rf"hardware tag says {first}, the evidence is from {second}"):
            promoted(store, run)


def test_a_model_without_a_hardware_tag_takes_that_of_the_first_evidence(store: Store, tmp_path: Path) -> None:
    store.client.create_registered_model(MODEL)
    promoted(store, make_small(tmp_path))
    assert store.hardware(MODEL) == "cpu"


def test_a_broken_decision_writes_nothing(store: Store, tmp_path: Path) -> None:
    run = make_run(tmp_path, exit_code=2)
    watched = watch(store)
    assert promoted(store, run).scenes == {}
    assert watched.writes == []


def test_an_alias_moved_by_hand_is_respected_until_the_decision_moves_it(store: Store, tmp_path: Path) -> None:
    run = make_small(tmp_path)
    first = promoted(store, run).scenes["qa"].version
    store.set_alias(MODEL, "qa", 3 - first)  # the other one of the versions 1 and 2
    promotion = promoted(store, run)
    assert promotion.scenes["qa"].variant == "fp8"
    moved = [(tags["alias"], tags["to_variant"]) for tags in journal(store)]
    assert moved[-2:] == [("qa-previous", "bf16"), ("qa", "fp8")]


def test_an_alias_on_a_foreign_version_is_not_taken(store: Store, tmp_path: Path) -> None:
    store.client.create_registered_model(MODEL)
    store.client.create_model_version(MODEL, "elsewhere://host/model")
    store.set_alias(MODEL, "qa", 1)
    with pytest.raises(InputError, match=r"alias qa of qwen-test holds version 1, which is not what"):
        promoted(store, make_small(tmp_path))


def test_a_second_promoter_of_this_host_is_told_and_waits(store: Store, database: Path) -> None:
    said: list[str] = []
    at_work = store.lock(said.append)
    at_work.__enter__()

    def finish(message: str) -> None:
        said.append(message)
        at_work.__exit__(None, None, None)

    with Store(f"sqlite:///{database}").lock(finish):
        assert said == [f"another promotion is at work (lock {database}-lock); waiting for it"]
