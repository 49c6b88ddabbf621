"""Complaint counts per window and variant, read strictly: every bad row is named, none is skipped."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationError, field_validator, model_validator

from evalsets.records import InputError, Record, explain

MAX_COUNT = 10**12  # far beyond any traffic, and exact as a float
WINDOW = re.compile(r"\d{4}-\d{2}-\d{2}(?P<time>T\d{2}:\d{2}(:\d{2})?(?P<offset>Z|[+-]\d{2}:\d{2})?)?", flags=re.ASCII)
WHOLE = re.compile(r"[0-9]{1,13}")
Kind = Literal["csv", "jsonl"]


def _whole(value: Any) -> Any:
    if type(value) is not int or not 0 <= value <= MAX_COUNT:  # bool is an int to isinstance
        raise ValueError(f"{value!r} is not a whole number from 0 to 10^12")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]


class Count(Record):
    """One window of one variant: how many sessions began in it, and on how many of those somebody complained.

    `window` is where it starts: an ISO date, or a date with a time, with or without an offset from UTC.
    """

    window: str
    variant: str
    sessions: Whole
    complaints: Whole

    @field_validator("window")
    @classmethod
    def _is_a_date(cls, value: str) -> str:
        moment(value)
        return value

    @field_validator("variant")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if not value or value != value.strip():
            raise ValueError(f"{value!r} is empty or has spaces around it")
        return value

    @model_validator(mode="after")
    def _not_more_than_sessions(self) -> Count:
        if self.complaints > self.sessions:
            raise ValueError(f"{self.complaints} complaints on {self.sessions} sessions; count a session once")
        return self


COLUMNS = tuple(Count.model_fields)


@dataclass(frozen=True)
class _Line:
    """One line as read: its values, or why there are none."""

    number: int
    values: dict[str, Any] | None
    problem: str = ""


def moment(window: str) -> datetime:
    """When a window starts, for sorting. Raises `ValueError` where it is no date, or a date that does not exist."""
    if not WINDOW.fullmatch(window):
        raise ValueError(f"{window!r} is no date such as 2026-03-01, 2026-03-01T06:00 or 2026-03-01T06:00+08:00")
    return datetime.fromisoformat(window)


def parse_counts(text: str, kind: Kind, where: str, baseline: str) -> list[Count]:
    """The rows of a CSV or JSONL text, by window and then variant. `where` names the file in messages.

    Every window must have a row of the baseline and at most one row per variant, and all windows one form (dates,
    times, or times with an offset). Raises one `InputError` that lists every bad line as file:line, in line order.
    """
    lines = list(_csv_lines(text) if kind == "csv" else _jsonl_lines(text))
    problems: list[tuple[int, str]] = []
    rows: list[Count] = []
    for line in lines:
        if line.values is None:
            problems.append((line.number, line.problem))
            continue
        try:
            rows.append(Count.model_validate(line.values))
        except ValidationError as error:
            problems.append((line.number, explain(error)))
    keyed = [(line.number, line.values) for line in lines if line.values is not None and _has_key(line.values)]
    problems += _twins(keyed) + _mixed_forms(keyed) + _without_baseline(keyed, baseline)
    if not lines:
        problems.append((1, "no rows; give at least one window"))
    if problems:
        listed = "".join(f"\n  {where}:{number}: {problem}" for number, problem in sorted(problems))
        raise InputError(f"{where}: nothing was decided; correct these lines ({len(problems)}):{listed}")
    return sorted(rows, key=lambda row: (moment(row.window), row.variant))


def _csv_lines(text: str) -> Iterator[_Line]:
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = next(reader, [])
        if sorted(header) != sorted(COLUMNS):
            yield _Line(1, None, f"columns {', '.join(header)}; wanted, each once: {', '.join(COLUMNS)}")
            return
        for fields in reader:
            if len(fields) == len(header):
                values = dict(zip(header, fields, strict=True))
                yield _Line(reader.line_num, {name: _number(name, field) for name, field in values.items()})
            else:
                yield _Line(reader.line_num, None, f"{len(fields)} fields where {len(header)} are wanted")
    except csv.Error as error:
        yield _Line(reader.line_num, None, f"not CSV ({error})")


def _number(column: str, field: str) -> int | str:
    return int(field) if column in ("sessions", "complaints") and WHOLE.fullmatch(field) else field


def _jsonl_lines(text: str) -> Iterator[_Line]:
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line, object_pairs_hook=_no_twins, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            yield _Line(number, None, f"not JSON ({error})")
        else:
            is_object = isinstance(values, dict)
            yield _Line(number, values if is_object else None, f"not an object with {', '.join(COLUMNS)}")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


_Keyed = list[tuple[int, dict[str, Any]]]


def _has_key(values: dict[str, Any]) -> bool:
    window = values.get("window")
    if not isinstance(window, str) or not isinstance(values.get("variant"), str):
        return False
    try:
        moment(window)
    except ValueError:
        return False
    return True


def _twins(keyed: _Keyed) -> list[tuple[int, str]]:
    first: dict[tuple[datetime, str], int] = {}
    found = []
    for number, values in keyed:
        key = (moment(values["window"]), values["variant"])
        if key in first:
            found.append(
                (number, f"{values['variant']} in {values['window']} again, as in line {first[key]}; keep one")
            )
        first.setdefault(key, number)
    return found


def _mixed_forms(keyed: _Keyed) -> list[tuple[int, str]]:
    forms = [(number, values["window"], _form(values["window"])) for number, values in keyed]
    return [
        (number, f"{window} is a {form}, line {forms[0][0]} a {forms[0][2]}; write all windows in one form")
        for number, window, form in forms
        if form != forms[0][2]
    ]


def _form(window: str) -> str:
    match = WINDOW.fullmatch(window)
    if match is None or not match["time"]:
        return "date"
    return "time with an offset" if match["offset"] else "time without an offset"


def _without_baseline(keyed: _Keyed, baseline: str) -> list[tuple[int, str]]:
    counted = {moment(values["window"]) for _, values in keyed if values["variant"] == baseline}
    lacking: dict[datetime, tuple[int, str]] = {}
    for number, values in keyed:
        start = moment(values["window"])
        if start not in counted:
            lacking.setdefault(start, (number, f"no row of the baseline {baseline} in {values['window']}; add it"))
    return list(lacking.values())
