"""A process that is killed behind any of its writes leaves a registry that the next run brings to the same state."""

from __future__ import annotations

import multiprocessing
import signal
from pathlib import Path

from evalsets.records import InputError
from registry.store.apply import holders, roll_back
from registry.store.history import in_order
from registry.store.mlflow_store import Store
from registry.store.show import disagreements
from tests.registry.store.probe import MODEL, make_small, promoted, quick_bundle, state, unwatch, watch
from tests.system.place import EMPTY, Place
from tests.system.promoter import act_and_die, promote_at

BEFORE = "before"
STORES = [
    f"mlflow.store.{kind}.{way}"
    for kind in ("tracking", "model_registry")
    for way in ("sqlalchemy_store", "rest_store")
]
PRELOADED = ["tests.system.promoter", "mlflow.tracking.client", *STORES]  # what takes a process seconds to import


def kill(place: Place, root: Path | None, count: int) -> None:
    """Let a process of its own promote, or roll back, and end by SIGKILL behind its `count`-th write."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(PRELOADED)
    process = processes.Process(target=act_and_die, args=(place.uri, root, count))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL


def check_promotion(place: Place, root: Path) -> list[str]:
    """Promote from `BEFORE`; then, killed behind each write, promote again. Returns the names of the writes."""
    store, bundle = Store(place.uri), quick_bundle(root)
    names = watch(store).writes
    promote_at(store, root, bundle)
    unwatch(store)
    whole = state(store)
    for count, name in enumerate(names, 1):
        place.bring_back(BEFORE)
        kill(place, root, count)
        promote_at(store, root, bundle)
        assert state(store) == whole, f"killed behind {name}, {count}"
    return names


def test_a_killed_first_promotion_is_made_good(place: Place, tmp_path: Path) -> None:
    place.bring_back(EMPTY)
    place.keep(BEFORE)
    names = check_promotion(place, make_small(tmp_path).layout.root)
    assert {"create_registered_model", "create_run", "create_model_version", "set_registered_model_alias"} <= set(names)


def test_a_killed_later_promotion_is_made_good(place: Place, tmp_path: Path) -> None:
    promoted(Store(place.uri), make_small(tmp_path / "1"))
    place.keep(BEFORE)
    names = check_promotion(place, make_small(tmp_path / "2", "FAIL").layout.root)
    assert names.count("set_registered_model_alias") == 2


def test_a_killed_rollback_is_made_good_and_takes_one_promotion_back(place: Place, tmp_path: Path) -> None:
    store = Store(place.uri)
    promoted(store, make_small(tmp_path / "1", "FAIL"))
    promoted(store, make_small(tmp_path / "2"))
    place.keep(BEFORE)
    names = watch(store).writes
    roll_back(store, MODEL, "qa", "it drifted")
    unwatch(store)
    assert len(names) >= 6
    for count in range(1, len(names) + 1):
        place.bring_back(BEFORE)
        kill(place, None, count)
        try:
            roll_back(store, MODEL, "qa", "it drifted")
        except InputError as error:  # it was whole already
            assert "nothing served it before" in str(error)
            assert count == len(names)
        held, entries = store.aliases(MODEL), store.runs.entries(MODEL)
        assert (held["qa"].tags["variant"], held["qa-previous"].tags["variant"]) == ("bf16", "fp8"), count
        assert [found.kind for found in in_order(entries, "qa")] == ["promotion", "promotion", "rollback"]
        assert disagreements(entries, holders(store, MODEL)) == []
