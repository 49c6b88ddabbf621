"""Keys that gold misses and keys that nobody declared: which of them are the same key under another spelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rapidfuzz.distance import Levenshtein


def folded(name: str) -> str:
    """A key or name without `_`, `-` and letter case."""
    return name.replace("_", "").replace("-", "").casefold()


def pair_keys(
    missing: Sequence[str], surplus: Sequence[str], holds: Callable[[str, str], bool]
) -> list[tuple[str, str, str]]:
    """Missing keys with the surplus key each was written as: (missing, surplus, label), in the order of `missing`.

    `key_case`: equal when folded. `key_renamed`: `holds(missing, surplus)`, the surplus key has exactly the value
    wanted; of several the nearest by edit distance. A surplus key is used once, spelling before value.
    """
    found: dict[str, tuple[str, str]] = {}
    left = list(surplus)
    for key in missing:
        spelled = next((other for other in left if folded(other) == folded(key)), None)
        if spelled is not None:
            left.remove(spelled)
            found[key] = (spelled, "key_case")
    for key in missing:
        same = [] if key in found else [other for other in left if holds(key, other)]
        if same:
            renamed = min(same, key=lambda other: (Levenshtein.distance(key, other), other))
            left.remove(renamed)
            found[key] = (renamed, "key_renamed")
    return [(key, *found[key]) for key in missing if key in found]
