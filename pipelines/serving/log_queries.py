"""What the requests of a log share: integers per request in a DuckDB table, and the queries over it.

Shared are the leading full blocks of a request's head (all before the first user's words) that a request of another
session begins with too. Only different heads are kept as blocks, so that a log of any length fits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from pipelines.serving.blocks import block_hashes
from pipelines.serving.prompt_tokens import Prompt, PromptTokens
from pipelines.serving.request_log import LoggedRequest, connect

BATCH = 4096
LONG_TOKENS = 1000
TABLES = """
CREATE TABLE request (scene VARCHAR, turn INTEGER, session UBIGINT, head UBIGINT, head_tokens INTEGER,
                      input_tokens INTEGER, output_tokens INTEGER);
CREATE TABLE head_block (head UBIGINT, depth INTEGER, name UBIGINT);
"""
# A head shares a block when sessions other than its own have it, under this head or another one.
SHARED = """
WITH head AS (SELECT head, min(session) AS first, max(session) AS last FROM request GROUP BY head),
     block AS (SELECT name, min(first) AS first, max(last) AS last FROM head_block JOIN head USING (head) GROUP BY name)
SELECT head, count(*) FILTER (block.first < block.last) AS blocks
FROM head_block JOIN block USING (name) GROUP BY head
"""
AVERAGES = """
WITH shared AS ({shared}),
     counted AS (SELECT *, coalesce(blocks, 0) * {block_size} AS shared_tokens
                 FROM request LEFT JOIN shared USING (head))
SELECT coalesce(scene, 'all'), count(*), count(DISTINCT session), avg(head_tokens), avg(shared_tokens),
       avg(input_tokens), avg(output_tokens), avg(CAST(shared_tokens > {long} AS INTEGER)),
       avg(CAST(turn > 1 AS INTEGER))
FROM counted GROUP BY GROUPING SETS ((), (scene)) HAVING count(*) > 0 ORDER BY count(*) DESC, 1
"""


@dataclass(frozen=True)
class Averages:
    """One scene's requests, or all: averages in tokens, shares in 0 to 1. `system_tokens` include the tools'."""

    scene: str
    requests: int
    sessions: int
    system_tokens: float
    shared_tokens: float
    input_tokens: float
    output_tokens: float
    long_shared_rate: float
    later_turn_rate: float


class PrefixTable:
    """Fill it with a log's requests, then ask for `averages`. A context manager: it holds a database."""

    def __init__(self, tokens: PromptTokens, block_size: int) -> None:
        self._tokens = tokens
        self._block_size = block_size
        self._heads: dict[int, int] = {}
        self._rows: list[tuple[str, int, int, int, int, int, int]] = []
        self._blocks: list[tuple[int, int, int]] = []
        self._connection = connect()
        self._connection.execute(TABLES)

    def __enter__(self) -> PrefixTable:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def add(self, request: LoggedRequest) -> None:
        """Count one request."""
        prompt = self._tokens.prompt(request)
        head = self._head(prompt)
        self._rows.append(
            (
                request.scene,
                request.turn,
                _name(request.session),
                head,
                self._heads[head],
                self._tokens.count(prompt.text),
                request.output_tokens,
            )
        )
        if len(self._rows) >= BATCH:
            self._flush()

    def averages(self) -> Iterator[Averages]:
        """All requests (scene "all"), then each scene, most requests first; nothing where none was added."""
        self._flush()
        query = AVERAGES.format(shared=SHARED, block_size=self._block_size, long=LONG_TOKENS)
        for row in self._connection.execute(query).fetchall():
            yield Averages(*row)

    def _head(self, prompt: Prompt) -> int:
        head = _name(prompt.head)
        if head not in self._heads:
            ids = self._tokens.ids(prompt.head)
            self._heads[head] = len(ids)
            self._blocks += [(head, depth, name) for depth, name in enumerate(block_hashes(ids, self._block_size))]
        return head

    def _flush(self) -> None:
        for table, rows in (("request", self._rows), ("head_block", self._blocks)):
            if rows:
                columns = [_column(values) for values in zip(*rows, strict=True)]
                names = [str(row[0]) for row in self._connection.execute(f"DESCRIBE {table}").fetchall()]
                batch = dict(zip(names, columns, strict=True))
                self._connection.register("batch", batch)
                self._connection.execute(f"INSERT INTO {table} SELECT {', '.join(names)} FROM batch")
                self._connection.unregister("batch")
                rows.clear()


def _column(values: tuple[object, ...]) -> np.ndarray:
    return np.array(values, dtype=object if isinstance(values[0], str) else np.uint64)


def _name(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
