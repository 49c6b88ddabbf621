"""How records reach the disk and get their digests: JSON for records, JSONL for rows.

Writes are atomic (temporary file, fsync, rename). Reads are strict: an unknown key, a NaN or a broken
line raises `InputError`, which says what is wrong, where, and what to do next.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from typing_extensions import TypeAliasType

# A parsed JSON value. Fractions are Decimal so that a literal such as 12900.00 keeps its spelling.
Json = TypeAliasType("Json", "None | bool | int | Decimal | str | list[Json] | dict[str, Json]")


class InputError(Exception):
    """Input that cannot be used. The message says what, where (file:line or item id), and what to do next."""


class Record(BaseModel):
    """Base of everything that crosses a file edge: frozen, unknown keys refused, finite numbers only."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        # pydantic refuses an unknown key too, but does not say which ones there are.
        if isinstance(value, dict) and not value.keys() <= cls.model_fields.keys():
            unknown = [str(key) for key in value if key not in cls.model_fields]
            raise ValueError(f"unknown key {', '.join(unknown)}; allowed: {', '.join(cls.model_fields)}")
        return value


R = TypeVar("R", bound=Record)


def canonical_json(value: Any) -> bytes:
    """The one byte spelling of `value` that digests are taken of: UTF-8, sorted keys, no spaces, no NaN."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON of a record, a list of JSON values or a dict."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 (64 hex digits) of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomic(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that a reader sees the old file or the whole new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise


def record_bytes(record: BaseModel) -> bytes:
    """One record as it is written: indented JSON with a final newline, keys in the model's order."""
    text = json.dumps(record.model_dump(mode="json"), ensure_ascii=False, indent=2, allow_nan=False)
    return (text + "\n").encode("utf-8", "surrogatepass")


def rows_bytes(rows: Iterable[BaseModel]) -> bytes:
    """Rows as they are written: JSONL in the given order, one compact JSON object a line."""
    lines = (
        json.dumps(row.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        for row in rows
    )
    return "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")


def write_record(path: Path, record: BaseModel) -> None:
    """Write one record (`record_bytes`)."""
    write_atomic(path, record_bytes(record))


def write_rows(path: Path, rows: Iterable[BaseModel]) -> None:
    """Write rows (`rows_bytes`)."""
    write_atomic(path, rows_bytes(rows))


def read_record(path: Path, model: type[R]) -> R:
    """Read one JSON record. Raises `InputError` naming the file and every offending key."""
    return _validate(_load(_read_text(path), str(path)), model, str(path))


def read_rows(path: Path, model: type[R]) -> list[R]:
    """Read a JSONL file in file order. A bad line raises `InputError` with file:line; none is skipped."""
    lines = _read_text(path).split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return [_validate(_load(line, f"{path}:{n}"), model, f"{path}:{n}") for n, line in enumerate(lines, 1)]


def unique_by_id(rows: Sequence[R], attribute: str, where: str) -> dict[str, R]:
    """Index rows by an id attribute. Raises `InputError` naming every id that occurs twice."""
    found: dict[str, R] = {}
    twice = set()
    for row in rows:
        key = getattr(row, attribute)
        if key in found:
            twice.add(key)
        found[key] = row
    if twice:
        raise InputError(f"{where}: ids occur more than once: {', '.join(sorted(twice))}; keep one row of each")
    return found


def explain(error: ValidationError) -> str:
    """A validation error as one line: each offending key with its path and what is allowed there."""
    parts = []
    for problem in error.errors(include_url=False):
        where = ".".join(str(step) for step in problem["loc"]) or "(top level)"
        parts.append(f"{where}: {problem['msg']}")
    return "; ".join(parts)


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogatepass")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run the stage that writes it (dvc repro)") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None


def _load(text: str, where: str) -> Any:
    def refuse_constant(name: str) -> Any:
        raise InputError(f"{where}: {name} is not a JSON number; give a finite one")

    def refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise InputError(f"{where}: an object has a key twice; keep one of them")
        return found

    try:
        return json.loads(text, parse_float=Decimal, parse_constant=refuse_constant, object_pairs_hook=refuse_twins)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error}); correct this line") from None


def _validate(value: Any, model: type[R], where: str) -> R:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{where}: {explain(error)}") from None
