"""Who serves what, since when and why, as text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from registry.store.history import in_order, standing
from registry.store.plan import CANDIDATE, PREVIOUS
from registry.store.runs import Entry


def serving(entries: Sequence[Entry], held: Mapping[str, str]) -> str:
    """One block per scene: version, variant, since when (UTC), why, and what a rollback would bring back.

    `held` maps an alias to the weights digest it holds now: an alias that does not follow the journal is said to.
    """
    scenes = sorted({entry.alias for entry in entries if not entry.alias.endswith((PREVIOUS, CANDIDATE))})
    return (
        "\n".join(_scene(scene, in_order(entries, scene), held.get(scene)) for scene in scenes)
        or "nothing was promoted"
    )


def story(entries: Sequence[Entry], scene: str | None = None) -> str:
    """Every move, the oldest first, a line each; of one scene's aliases where it is named."""
    wanted = [
        entry for entry in entries if scene is None or entry.alias in (scene, scene + PREVIOUS, scene + CANDIDATE)
    ]
    lines = [
        f"{_time(entry)}  {entry.kind:<9}  {entry.alias:<20}  {_named(entry)}: {entry.reason}"
        for entry in sorted(wanted, key=lambda entry: entry.order)
    ]
    return "\n".join(lines) or "no move was made"


def disagreements(entries: Sequence[Entry], held: Mapping[str, str]) -> list[str]:
    """Aliases that do not hold the journal's last word, and moves that nobody has seen through."""
    found = []
    for alias in sorted({entry.alias for entry in entries}):
        last = in_order(entries, alias)[-1]
        if held.get(alias) != last.after:
            found.append(
                f"{alias} holds {(held.get(alias) or 'nothing')[:12]}, the journal's last word is {last.after[:12]}"
            )
    found += [f"{entry.alias}: a move to {entry.after[:12]} is still open" for entry in entries if entry.is_open]
    return found


def _scene(scene: str, entries: Sequence[Entry], held: str | None) -> str:
    last = entries[-1]
    stack = standing(entries)
    lines = [f"{scene}: {_named(last)}", f"  since {_time(last)} by {last.kind}: {last.reason}"]
    if held != last.after:
        lines.append(f"  BUT the alias holds {(held or 'nothing')[:12]}: somebody moved it by hand")
    back = _named(stack[-2]) if len(stack) > 1 else "nothing: it is the first"
    return "\n".join([*lines, f"  a rollback would bring back {back}"])


def _named(entry: Entry) -> str:
    return f"version {entry.version}, {entry.variant} ({entry.after[:12]})"


def _time(entry: Entry) -> str:
    return datetime.fromtimestamp(entry.time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
