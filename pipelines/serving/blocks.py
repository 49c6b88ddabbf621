"""Blocks of KV cache as vLLM's engine manages them (vllm/v1/core: kv_cache_manager.py, block_pool.py).

A full block of tokens is named by a hash that chains over all tokens before it. A block that is being written is a hit
for others as soon as the step that fills it is scheduled. Released blocks keep their content until they are taken
again, the least recently released first; of one request, its last blocks first.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Sequence

ROOT = 0


def block_hashes(ids: Sequence[int], block_size: int, parent: int = ROOT) -> list[int]:
    """The 64-bit names of the full blocks of `ids`, in order; a rest that fills no block has none.

    `parent` is the name of the block before, where `ids` go on from one.
    """
    raw = (ids if isinstance(ids, array) else array("I", ids)).tobytes()
    width = block_size * array("I").itemsize
    found = []
    for start in range(0, len(raw) - width + 1, width):
        state = hashlib.blake2b(parent.to_bytes(8, "little"), digest_size=8)
        state.update(raw[start : start + width])
        parent = int.from_bytes(state.digest(), "little")
        found.append(parent)
    return found


class BlockPool:
    """The blocks of one engine. `blocks` counts those that requests can use: `num_gpu_blocks` less the null block."""

    def __init__(self, blocks: int) -> None:
        self._users = [0] * blocks
        self._name: list[int | None] = [None] * blocks
        # In the order in which they are taken; what is cached in none of them stands first.
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(blocks))
        # Equal blocks are not merged: a prompt of whole blocks computes its last one anew. The oldest is the hit.
        self._cached: dict[int, dict[int, None]] = {}

    @property
    def free_blocks(self) -> int:
        """How many blocks no running request holds."""
        return len(self._free)

    def cached_run(self, names: Sequence[int]) -> list[int]:
        """The cached blocks of the longest run of `names` from the first one on."""
        found = []
        for name in names:
            if (holders := self._cached.get(name)) is None:
                break
            found.append(next(iter(holders)))
        return found

    def room_for(self, hits: Sequence[int], blocks: int) -> bool:
        """Whether a request that holds `hits` can have `blocks` in all."""
        unused = sum(self._users[block] == 0 for block in hits)
        return blocks - len(hits) + unused <= len(self._free)

    def take(self, hits: Sequence[int], names: Sequence[int], blocks: int) -> list[int]:
        """The `blocks` of a request that starts: its hits, then fresh ones, named by `names` as far as these reach.

        What was cached in the fresh ones is gone.
        """
        for block in hits:
            if self._users[block] == 0:
                del self._free[block]
            self._users[block] += 1
        held = list(hits)
        for _ in range(blocks - len(hits)):
            block, _ = self._free.popitem(last=False)
            self._forget(block)
            self._users[block] = 1
            held.append(block)
        for block, name in zip(held[len(hits) :], names[len(hits) :], strict=False):
            self._name[block] = name
            self._cached.setdefault(name, {})[block] = None
        return held

    def release(self, held: Sequence[int]) -> None:
        """Give back the blocks of a request that ended."""
        unnamed = []
        for block in reversed(held):
            self._users[block] -= 1
            if self._users[block] == 0:
                self._free[block] = None
                if self._name[block] is None:
                    unnamed.append(block)
        for block in reversed(unnamed):
            self._free.move_to_end(block, last=False)

    def _forget(self, block: int) -> None:
        if (name := self._name[block]) is not None:
            del self._cached[name][block]
            if not self._cached[name]:
                del self._cached[name]
            self._name[block] = None
