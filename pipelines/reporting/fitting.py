"""As many cards of each pile as a page has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Card = TypeVar("Card")


def fitting(piles: Sequence[Iterable[Card]], cost: Callable[[Card], int], room: int) -> list[list[Card]]:
    """The cards of each pile that fit into `room` bytes, dealt in turn so that no pile starves another.

    Each pile is given best first and stops at its first card that does not fit; no card beyond that is asked for.
    """
    taken: list[list[Card]] = [[] for _ in piles]
    sources = [iter(pile) for pile in piles]
    still = list(range(len(sources)))
    while still:
        for index in list(still):
            card = next(sources[index], None)
            if card is None or cost(card) > room:
                still.remove(index)
            else:
                room -= cost(card)
                taken[index].append(card)
    return taken
