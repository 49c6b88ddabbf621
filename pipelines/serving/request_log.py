"""The request log: one row per request that reached the model, and how rows are read, whatever holds them.

DuckDB reads JSONL, Parquet and PostgreSQL tables in batches, so that a log need not fit into memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import duckdb
from pydantic import AfterValidator, AwareDatetime, Field, ValidationError

from evalsets.items import Message, Text
from evalsets.records import InputError, Record, explain
from pipelines.engine.settings import masked

BATCH = 512
MEMORY_LIMIT = "512MB"
NESTED = ("messages", "tools")
OPTIONAL = ("tools", "generated")
EXTENSION = "postgres"


def _to_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


class LoggedRequest(Record):
    """One request as the model got it. Its rows are the log's schema; further columns of a log are not looked at.

    `time` of arrival, with its offset. `scene` as in the policy. `turn` counts a session's requests from 1. `messages`
    hold the whole conversation, the new user turn last. `tools`: the list as it was sent, keys in their order, or the
    name of a toolset. `output_tokens` of the answer. `generated` rows come from a generator, not from users.
    """

    time: Annotated[AwareDatetime, AfterValidator(_to_utc)]
    tenant: Text
    scene: Text
    session: Text
    turn: Annotated[int, Field(ge=1)]
    messages: Annotated[list[Message], Field(min_length=1)]
    tools: list[dict[str, Any]] | Text | None = None
    output_tokens: Annotated[int, Field(ge=0)]
    generated: bool = False

    def chat(self) -> list[dict[str, Any]]:
        """The messages as the API and a chat template take them."""
        return [message.model_dump(exclude_none=True) for message in self.messages]


@dataclass(frozen=True)
class LogSource:
    """Where a log is: a `.jsonl` or `.parquet` file, or `postgresql://…` with the `table` that holds it."""

    place: str
    table: str | None = None

    @property
    def shown(self) -> str:
        """The place without passwords."""
        return masked(self.place, frozenset())


def read_log(source: LogSource) -> Iterator[LoggedRequest]:
    """The rows of a log in its own order, a batch in memory at a time.

    Raises `InputError` naming the row (from 1) and what is wrong with it; none is skipped.
    """
    with closing(connect()) as connection:
        try:
            reader = connection.execute(_query(connection, source))
            number = 0
            while batch := reader.fetchmany(BATCH):
                for row in batch:
                    number += 1
                    yield _request(row, f"{source.shown}: row {number}")
        except duckdb.Error as error:
            raise InputError(f"{source.shown}: not readable as a request log: {_first_line(error)}") from None


def connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB within 512 MB and two threads that reports times in UTC."""
    connection = duckdb.connect(config={"memory_limit": MEMORY_LIMIT, "threads": 2})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _query(connection: duckdb.DuckDBPyConnection, source: LogSource) -> str:
    relation = _relation(connection, source)
    described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    types = {str(name): str(kind) for name, kind, *_ in described}
    if lost := [name for name in LoggedRequest.model_fields if name not in types and name not in OPTIONAL]:
        raise InputError(f"{source.shown}: no column {', '.join(lost)}; a request log has these (docs/serving.md)")
    return f"SELECT {', '.join(_column(name, types) for name in LoggedRequest.model_fields)} FROM {relation}"


def _column(name: str, types: dict[str, str]) -> str:
    if name not in types:
        return f"NULL AS {name}"
    if name in NESTED and types[name] not in ("VARCHAR", "JSON"):
        return f"CAST(to_json({name}) AS VARCHAR) AS {name}"
    return f"CAST({name} AS VARCHAR) AS {name}" if name in (*NESTED, "time") else name


def _relation(connection: duckdb.DuckDBPyConnection, source: LogSource) -> str:
    if source.place.startswith(("postgresql://", "postgres://")):
        return _attached(connection, source)
    path = Path(source.place)
    if not path.is_file():
        raise InputError(f"{path}: no such log; name a .jsonl or .parquet file, or postgresql://… with --table")
    if path.suffix == ".parquet":
        return f"read_parquet({_quoted(source.place)})"
    if path.suffix in (".jsonl", ".json", ".ndjson"):
        kinds = dict.fromkeys(LoggedRequest.model_fields, "VARCHAR")
        kinds |= {"messages": "JSON", "tools": "JSON", "turn": "BIGINT", "output_tokens": "BIGINT"}
        columns = ", ".join(f"{name}: '{kind}'" for name, kind in (kinds | {"generated": "BOOLEAN"}).items())
        return f"read_json({_quoted(source.place)}, format = 'newline_delimited', columns = {{{columns}}})"
    raise InputError(f"{path}: {path.suffix or 'no suffix'} is no log format; write .jsonl or .parquet")


def _attached(connection: duckdb.DuckDBPyConnection, source: LogSource) -> str:
    if not source.table:
        raise InputError(f"{source.shown}: name the table that holds the log with --table")
    try:
        connection.execute(f"LOAD {EXTENSION}")
    except duckdb.Error:
        raise InputError(
            f"{source.shown}: DuckDB's extension {EXTENSION} is not installed; run `INSTALL {EXTENSION}` in DuckDB "
            f"{duckdb.__version__} where it reaches its extensions, or export the table to Parquet and analyse that"
        ) from None
    try:
        connection.execute(f"ATTACH {_quoted(source.place)} AS log (TYPE postgres, READ_ONLY)")
    except duckdb.Error:
        # The database's own message may repeat the password.
        raise InputError(f"{source.shown}: cannot be attached; check host, user, password and database") from None
    return "log." + ".".join('"' + part.replace('"', '""') + '"' for part in source.table.split("."))


def _request(row: tuple[Any, ...], where: str) -> LoggedRequest:
    found = {name: value for name, value in zip(LoggedRequest.model_fields, row, strict=True) if value is not None}
    try:
        for name in NESTED:
            found |= {name: _parsed(found[name])} if name in found else {}
        if "time" in found:
            found["time"] = _iso(found["time"])
        return LoggedRequest.model_validate(found)
    except ValidationError as error:
        raise InputError(f"{where}: {explain(error)}") from None
    except ValueError as error:
        raise InputError(f"{where}: messages or tools are not JSON ({error}); log them as they were sent") from None


def _parsed(text: str) -> Any:
    # A toolset's name may stand there bare (a SQL export) or as a JSON string (JSONL).
    return json.loads(text) if text[:1] in ("[", "{", '"') else None if text == "null" else text


def _iso(text: str) -> str:
    # DuckDB writes UTC as +00.
    return text + ":00" if text.endswith("+00") else text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
