"""A process that ends after any of its writes leaves a registry that the next promotion brings to the same state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from registry.store.apply import apply, promote
from registry.store.mlflow_store import Store
from registry.store.plan import plan
from tests.registry.store.fake_run import FakeRun
from tests.registry.store.probe import (
    MODEL,
    bundle_of,
    copy_database,
    journal,
    make_small,
    promoted,
    state,
    target,
    unwatch,
    watch,
)


def check_crashes(store: Store, database: Path, folder: Path, run: FakeRun) -> list[str]:
    """Promote; then, from the database as it was behind each write, promote again. Returns the names of the writes."""
    bundle, goal = bundle_of(run), target(store, run)
    behind: list[Path] = []

    def keep() -> None:
        behind.append(folder / f"{len(behind)}.db")
        copy_database(database, behind[-1])

    names = watch(store, keep).writes
    promote(bundle, goal)
    unwatch(store)
    whole = state(store)
    for name, copy in zip(names, behind, strict=True):
        copy_database(copy, database)
        promote(bundle, goal)
        assert state(store) == whole, f"crash behind {name}, {copy.stem}"
    return names


@pytest.mark.heavy
def test_the_first_promotion_survives_a_crash_after_any_write(store: Store, database: Path, tmp_path: Path) -> None:
    names = check_crashes(store, database, tmp_path, make_small(tmp_path / "run"))
    assert {"create_registered_model", "create_run", "create_model_version", "log_values"} <= set(names)


@pytest.mark.heavy
def test_a_later_promotion_survives_a_crash_after_any_write(store: Store, database: Path, tmp_path: Path) -> None:
    promoted(store, make_small(tmp_path / "1"))
    names = check_crashes(store, database, tmp_path, make_small(tmp_path / "2", "FAIL"))
    assert names.count("set_registered_model_alias") == 2
    assert store.aliases(MODEL)["qa-previous"].tags["variant"] == "fp8"


@pytest.mark.heavy
@pytest.mark.parametrize("moves_done", [0, 1])
def test_a_stale_plan_that_was_half_applied_can_be_applied_again(store: Store, tmp_path: Path, moves_done: int) -> None:
    run = make_small(tmp_path)
    bundle = bundle_of(run)
    moves = plan(bundle.decision, bundle.manifests, {})
    some = moves.model_copy(update={"moves": moves.moves[:moves_done]})
    apply(some, bundle, target(store, run))
    apply(moves, bundle, target(store, run))
    assert [tags["alias"] for tags in journal(store)] == ["qa-candidate", "qa"]


class Crash(Exception):
    """The process ends here."""


def crash_at_qa(store: Store) -> Callable[[str, str, int], None]:
    """`set_alias` in a process that ends before the alias `qa` is set."""
    set_alias = store.set_alias

    def call(model: str, alias: str, number: int) -> None:
        if alias == "qa":
            raise Crash
        set_alias(model, alias, number)

    return call


@pytest.mark.heavy
def test_what_a_crash_left_open_is_finished_even_by_another_decision(store: Store, tmp_path: Path) -> None:
    promoted(store, make_small(tmp_path / "1", "FAIL"))
    run = make_small(tmp_path / "2")
    watched = watch(store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "set_alias", crash_at_qa(store))
        with pytest.raises(Crash):
            promoted(store, run)
    assert watched.writes[-1] == "create_run"
    assert store.aliases(MODEL)["qa"].tags["variant"] == "bf16"
    promoted(store, make_small(tmp_path / "3", "INCONCLUSIVE"))
    assert [tags["to_variant"] for tags in journal(store) if tags["alias"] == "qa"] == ["bf16", "fp8"]
    assert store.aliases(MODEL)["qa"].tags["variant"] == "fp8"
