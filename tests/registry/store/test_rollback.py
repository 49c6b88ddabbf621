"""Rolling back: one step at a time, with a reason, without losing history, and not undone by a mere rerun."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.records import InputError
from registry.store.apply import holders, promote, roll_back
from registry.store.history import in_order, rollback_plan, standing, taken_back
from registry.store.mlflow_store import Store
from registry.store.plan import MoveKind
from registry.store.runs import Entry
from registry.store.show import disagreements, serving, story
from tests.registry.store.probe import (
    MODEL,
    At,
    bundle_of,
    copy_database,
    make_small,
    promoted,
    target,
    unwatch,
    watch,
)

W = {name: name * 64 for name in "abc"}


def entry(number: int, after: str, kind: MoveKind) -> Entry:
    return Entry(f"run{number}", "qa", None, W[after], kind, "why", "d" * 64, after, str(number), number, False)


@pytest.mark.parametrize(
    ("moves", "stack", "back"),
    [
        ([("a", "promotion")], "a", None),
        ([("a", "promotion"), ("b", "promotion")], "ab", "a"),
        ([("a", "promotion"), ("b", "promotion"), ("a", "rollback")], "a", None),
        ([("a", "promotion"), ("b", "promotion"), ("c", "promotion"), ("b", "rollback")], "ab", "a"),
        ([("a", "promotion"), ("b", "promotion"), ("a", "rollback"), ("c", "promotion")], "ac", "a"),
        ([("a", "promotion"), ("b", "promotion"), ("c", "promotion"), ("b", "rollback"), ("a", "rollback")], "a", None),
    ],
)
def test_a_rollback_takes_one_promotion_back(moves: list[tuple[str, MoveKind]], stack: str, back: str | None) -> None:
    entries = [entry(number, after, kind) for number, (after, kind) in enumerate(moves)]
    assert [found.variant for found in standing(entries)] == list(stack)
    made = rollback_plan("qa", entries, "it drifted")
    assert (made.moves[-1].after if made else None) == (W[back] if back else None)
    assert bool(taken_back(entries)) == (moves[-1][1] == "rollback")


def test_promote_roll_back_promote_again(store: Store, tmp_path: Path) -> None:
    promoted(store, make_small(tmp_path / "0", "FAIL"))
    run = make_small(tmp_path / "1")
    promoted(store, run)
    assert store.aliases(MODEL)["qa"].tags["variant"] == "fp8"
    roll_back(store, MODEL, "qa", "amounts drift in production")
    held = store.aliases(MODEL)
    assert (held["qa"].tags["variant"], held["qa-previous"].tags["variant"]) == ("bf16", "fp8")

    # The same decision again moves nothing: somebody took it back on purpose.
    moves, _ = promote(bundle_of(run), target(store, run))
    assert [move.alias for move in moves.moves] == []
    assert store.aliases(MODEL)["qa"].tags["variant"] == "bf16"

    with pytest.raises(InputError, match="nothing served it before"):
        roll_back(store, MODEL, "qa", "further back")

    entries = store.runs.entries(MODEL)
    assert "since" in serving(entries, holders(store, MODEL))
    assert "by rollback: amounts drift in production" in serving(entries, holders(store, MODEL))
    assert story(entries, "qa").count("rollback ") >= 1
    assert disagreements(entries, holders(store, MODEL)) == []


def test_a_reason_is_wanted(store: Store) -> None:
    with pytest.raises(InputError, match="--reason"):
        roll_back(store, MODEL, "qa", " ")


class Crash(Exception):
    """The process ends here."""


def crash() -> None:
    raise Crash


@pytest.mark.heavy
def test_a_crash_behind_any_write_of_a_rollback_is_made_good(store: Store, database: Path, tmp_path: Path) -> None:
    promoted(store, make_small(tmp_path / "0", "FAIL"))
    promoted(store, make_small(tmp_path / "1"))
    copy_database(database, tmp_path / "before.db")
    names = watch(store).writes
    roll_back(store, MODEL, "qa", "it drifted")
    writes = len(names)
    assert writes >= 6
    for count in range(1, writes + 1):
        unwatch(store)
        copy_database(tmp_path / "before.db", database)
        watch(store, At(count, crash))
        with pytest.raises(Crash):
            roll_back(store, MODEL, "qa", "it drifted")
        unwatch(store)
        try:
            roll_back(store, MODEL, "qa", "it drifted")
        except InputError as error:  # it was whole already
            assert "nothing served it before" in str(error)
            assert count == writes
        held, entries = store.aliases(MODEL), store.runs.entries(MODEL)
        assert (held["qa"].tags["variant"], held["qa-previous"].tags["variant"]) == ("bf16", "fp8"), count
        assert [found.kind for found in in_order(entries, "qa")] == ["promotion", "promotion", "rollback"]
        assert disagreements(entries, holders(store, MODEL)) == []


def test_no_decision_that_was_taken_back_is_promoted_again_by_a_rerun(store: Store, tmp_path: Path) -> None:
    promoted(store, make_small(tmp_path / "0", "FAIL"))
    runs = [make_small(tmp_path / "1"), make_small(tmp_path / "2", build="2")]
    for run in runs:
        promoted(store, run)
    roll_back(store, MODEL, "qa", "amounts drift")
    roll_back(store, MODEL, "qa", "names drift too")
    for run in runs:
        moves, promotion = promote(bundle_of(run), target(store, run))
        assert [move.alias for move in moves.moves if move.alias == "qa"] == []
        assert promotion.scenes["qa"].variant == "bf16"
    other = make_small(tmp_path / "3", build="3")
    promoted(store, other)  # other evidence: from now on, a scene is open again to what was taken back
    assert promoted(store, runs[0]).scenes["qa"].weights_digest == runs[0].weights("fp8")
