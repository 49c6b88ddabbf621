"""The journal's protocol: a move is written down first, then the alias follows the journal's last word.

MLflow has no compare-and-swap. So every promoter appends its move, sets the alias to the last word of the journal,
reads both again, and repeats until they agree: two promoters at once, on two hosts, end in one state. An entry stays
open until its alias has been seen to follow; what a crash left open is finished by the next run. A closed entry is
history: an alias that somebody moved by hand afterwards is respected.
"""

from __future__ import annotations

from evalsets.records import InputError
from registry.store.mlflow_store import Store
from registry.store.plan import Move
from registry.store.runs import Entry

ATTEMPTS = 10


def settle(store: Store, model: str) -> None:
    """Finish every move that was written down and not seen through. Does nothing when none is open."""
    for alias in sorted({entry.alias for entry in store.runs.open_entries(model)}):
        follow(store, model, alias)


def make(store: Store, model: str, move: Move, decision_sha256: str) -> None:
    """Write a move down and see it through. Does nothing where the alias holds its target already.

    Raises `InputError` when the alias holds neither what the plan saw nor what it wants: the plan is stale.
    """
    held = store.holder(model, move.alias)
    if held is not None and held.weights_digest == move.after:
        return
    if (held.weights_digest if held else None) != move.before:
        raise InputError(
            f"alias {move.alias} of {model} holds version {held.number if held else 'none'}, which is not what this "
            "promotion was planned from; somebody else moved it: look at it, then promote again"
        )
    word = store.runs.last_word(model, move.alias)
    if word is None or not word.is_open or word.after != move.after:
        store.runs.append(model, move, _named(store, model, move.after), decision_sha256, word)
    follow(store, model, move.alias)


def follow(store: Store, model: str, alias: str) -> None:
    """Set an alias to the last word of its journal until both agree, then close the entries up to that word."""
    for _ in range(ATTEMPTS):
        word = store.runs.last_word(model, alias)
        if word is None:
            return
        version = store.find_version(model, word.after)
        if version is not None and not _holds(store, model, alias, version.weights_digest):
            store.set_alias(model, alias, version.number)
        # A word whose version somebody deleted cannot be followed: it is closed, and the alias left alone.
        agreed = version is None or _holds(store, model, alias, version.weights_digest)
        newest = store.runs.last_word(model, alias)
        if agreed and newest is not None and newest.run_id == word.run_id:
            _close_up_to(store, model, word)
            return
    raise InputError(f"alias {alias} of {model} keeps moving after {ATTEMPTS} attempts; wait and promote again")


def _close_up_to(store: Store, model: str, word: Entry) -> None:
    """A later entry stays open: whoever wrote it may still need somebody to finish it."""
    for entry in store.runs.open_entries(model):
        if entry.alias == word.alias and entry.order <= word.order:
            store.runs.close(entry)


def _holds(store: Store, model: str, alias: str, weights_digest: str) -> bool:
    held = store.holder(model, alias)
    return held is not None and held.weights_digest == weights_digest


def _named(store: Store, model: str, weights_digest: str) -> dict[str, str]:
    """A version in the words a reader of the journal looks for."""
    version = store.find_version(model, weights_digest)
    if version is None:
        raise InputError(f"registered model {model}: no version has the weights {weights_digest}; promote again")
    return {"variant": version.tags.get("variant", ""), "version": str(version.number)}
