"""What the journal tells of one scene: who served it when, what a rollback would bring back. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from registry.store.plan import PREVIOUS, Move, Plan
from registry.store.runs import Entry


def in_order(entries: Sequence[Entry], alias: str) -> list[Entry]:
    """The entries of one alias, the oldest first."""
    return sorted((entry for entry in entries if entry.alias == alias), key=lambda entry: entry.order)


def standing(entries: Sequence[Entry]) -> list[Entry]:
    """The promotions that are not taken back, the oldest first; the last one serves.

    `entries` are those of a serving alias in order. A rollback takes back promotions until the one that it names.
    """
    found: list[Entry] = []
    for entry in entries:
        if entry.kind == "rollback":
            while found and found[-1].after != entry.after:
                found.pop()
        else:
            found.append(entry)
    return found


def taken_back(entries: Sequence[Entry]) -> frozenset[str]:
    """The decisions that the rollbacks since the last promotion took back; none where the newest entry is a promotion.

    Such a decision is not promoted again by a mere rerun: other evidence is needed.
    """
    found: set[str] = set()
    for entry in reversed(entries):
        if entry.kind != "rollback":
            break
        found.add(entry.decision_sha256)
    return frozenset(found)


def rollback_plan(scene: str, entries: Sequence[Entry], reason: str) -> Plan | None:
    """The moves that bring back what served a scene before the newest standing promotion; None where nothing did.

    `<scene>-previous` takes what serves now, then `<scene>` goes back, in the order of a promotion. The plan's decision
    is the one that is taken back. History is not rewritten: a further rollback goes further back, and a promotion of
    other evidence goes on.
    """
    stack = standing(in_order(entries, scene))
    if len(stack) < 2:
        return None
    now, before = stack[-1], stack[-2]
    previous = in_order(entries, scene + PREVIOUS)
    held = previous[-1].after if previous else None
    moves = []
    if held != now.after:
        why = f"served {scene} before the rollback"
        moves.append(
            Move(alias=scene + PREVIOUS, scene=scene, before=held, after=now.after, reason=why, kind="rollback")
        )
    moves.append(Move(alias=scene, scene=scene, before=now.after, after=before.after, reason=reason, kind="rollback"))
    return Plan(decision_sha256=now.decision_sha256, versions=[], moves=moves)
