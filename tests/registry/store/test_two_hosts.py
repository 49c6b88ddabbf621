"""Two promoters that no lock keeps apart, as on two hosts: whenever the second one comes, one state comes out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import InputError
from registry.store.apply import promote
from registry.store.mlflow_store import Store, StoredVersion
from tests.registry.store.probe import (
    MODEL,
    At,
    bundle_of,
    journal,
    make_small,
    promoted,
    runs_of,
    target,
    unwatch,
    watch,
)

CONTESTED = {"create_model_version", "create_run", "set_registered_model_alias"}


def check_one_state(store: Store) -> None:
    """Every alias holds the last word of its journal, nothing is open, and no weights have two versions."""
    moves = journal(store)
    last = {tags["alias"]: tags["to"] for tags in moves}
    assert {alias: held.weights_digest for alias, held in store.aliases(MODEL).items()} == last
    versions = [version.tags["weights_digest"] for version in store.client.search_model_versions(f"name = '{MODEL}'")]
    assert len(versions) == len(set(versions)) == 2
    for before, after in pairwise(moves):
        assert (before["alias"], before["to"]) != (after["alias"], after["to"])


@pytest.mark.heavy
def test_a_second_promoter_behind_any_write(
    store: Store, elsewhere: Store, empty: Callable[[], None], tmp_path: Path
) -> None:
    first, second = make_small(tmp_path / "1"), make_small(tmp_path / "2", "FAIL")
    bundle, other = bundle_of(first), bundle_of(second)
    names = watch(store).writes
    promote(bundle, target(store, first))
    for count, name in enumerate(names, 1):
        if name not in CONTESTED:
            continue
        empty()
        watch(store, At(count, lambda: promote(other, target(elsewhere, second))))
        try:
            promote(bundle, target(store, first))
        except InputError as error:
            assert "somebody else moved it" in str(error)
        unwatch(store)
        check_one_state(store)
        assert store.aliases(MODEL)["qa"].tags["variant"] == "bf16"
    promoted(store, first)
    check_one_state(store)
    assert store.aliases(MODEL)["qa"].tags["variant"] == "fp8"


@pytest.mark.heavy
def test_a_second_promoter_between_the_journal_and_the_alias(
    store: Store, elsewhere: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    promoted(store, make_small(tmp_path / "0", "FAIL"))
    second = make_small(tmp_path / "2", "FAIL")
    set_alias = store.set_alias

    def late(model: str, alias: str, number: int) -> None:
        if alias == "qa":
            monkeypatch.undo()
            promoted(elsewhere, second)
        set_alias(model, alias, number)

    monkeypatch.setattr(store, "set_alias", late)
    promotion = promoted(store, make_small(tmp_path / "1"))
    assert promotion.scenes["qa"].variant == "bf16"
    check_one_state(store)


@pytest.mark.heavy
def test_a_second_promoter_between_the_search_for_a_version_and_its_creation(
    store: Store, elsewhere: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_small(tmp_path)
    create_version = store.create_version

    def late(*args: Any) -> StoredVersion:
        monkeypatch.undo()
        promoted(elsewhere, run)
        return create_version(*args)

    monkeypatch.setattr(store, "create_version", late)
    assert promoted(store, run) == promoted(elsewhere, run)
    check_one_state(store)


@pytest.mark.heavy
def test_a_second_promoter_between_the_search_for_an_evaluation_and_its_creation(
    store: Store, elsewhere: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_small(tmp_path)
    create_run = store.client.create_run

    def late(*args: Any, **named: Any) -> Any:
        monkeypatch.undo()
        promoted(elsewhere, run)
        return create_run(*args, **named)

    monkeypatch.setattr(store.client, "create_run", late)
    promoted(store, run)
    assert len(runs_of(store, "evaluations")) == 1
    assert len(runs_of(store, "measurements")) == len(run.variants) + 1
    check_one_state(store)
