"""Judges a file of tool-call cases: `python -m judges.cases FILE.jsonl`.

A row has `id`, `tool_schema` (list of `{name, parameters}`), `expected` (list of `{name, arguments}`; empty: no call
is wanted), `raw` and `form`: `arguments` (the text of `function.arguments`, with `called_name`), `tool_calls` (the list
of an API answer), or a full completion in the dialect `hermes` (also `text`), `bare` or `qwen_xml`. A null `raw` is an
empty one. `finish_reason`, `completion_capped` and `call_order` (`any`, `strict`) may be given.

One JSON verdict a line goes to stdout, in the order of the rows. Exit 0, or 2 where a row cannot be read: it is named
on stderr by its line number, and the others are judged.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalsets.items import Dialect, GoldArgument, GoldCall
from judges.call_shape import Tools, tools_by_name
from judges.calls import NATURAL_ENDS, Ending, Wanted, judge_native, judge_text
from judges.envelope_native import NativeCall, native_calls
from judges.findings import Finding, as_errors, recoveries, tolerable
from judges.json_reader import MAX_DEPTH, depth
from judges.schema import exact
from judges.verdicts import Verdict

DIALECTS: dict[str, Dialect] = {"hermes": "hermes", "text": "hermes", "bare": "bare", "qwen_xml": "qwen_xml"}


def judge_case(row: Mapping[str, Any]) -> Verdict:
    """The verdict on one case. Raises `ValueError` saying which field of the row cannot be used."""
    schemas = [
        (_field(tool, "name", str), _field(tool, "parameters", dict)) for tool in _field(row, "tool_schema", list)
    ]
    gold = [_gold(call) for call in _field(row, "expected", list)]
    wanted = Wanted(gold, not gold, bool(gold), row.get("call_order") == "strict")
    findings = _findings(row, wanted, tools_by_name(schemas), _ending(row))
    errors = as_errors(findings)
    return Verdict(
        item_id=str(row.get("id", "")),
        suite="tools",
        status="judged",
        strict_ok=not findings,
        tolerant_ok=tolerable(findings),
        primary=errors[0].kind if errors else None,
        errors=errors,
        recoveries=recoveries(findings),
    )


def _findings(row: Mapping[str, Any], wanted: Wanted, tools: Tools, end: Ending) -> list[Finding]:
    form = _field(row, "form", str)
    if form == "arguments":
        text = "" if row.get("raw") is None else _field(row, "raw", str)
        return judge_native([NativeCall(_field(row, "called_name", str), text)], wanted, tools, end)
    if form == "tool_calls":
        entries = [] if row.get("raw") is None else _field(row, "raw", list)
        return judge_native(native_calls([exact(entry) for entry in entries]), wanted, tools, end)
    if form in DIALECTS:
        text = "" if row.get("raw") is None else _field(row, "raw", str)
        return judge_text(text, wanted, tools, DIALECTS[form], end)
    raise ValueError(f"form {form!r} is none of arguments, tool_calls, {', '.join(DIALECTS)}")


def _ending(row: Mapping[str, Any]) -> Ending:
    finish = row.get("finish_reason")
    capped = bool(row.get("completion_capped")) or finish == "length"
    return Ending(capped, not capped and finish in NATURAL_ENDS)


def read_line(line: str) -> Mapping[str, Any]:
    """One row of a case file, numbers with their spelling kept. Raises `ValueError` for anything but an object."""
    try:
        row = json.loads(line, parse_float=Decimal)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    return row


def main(arguments: list[str]) -> int:
    """Judge the rows of the one file named. Returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m judges.cases FILE.jsonl", file=sys.stderr)
        return 2
    path, broken = Path(arguments[0]), False
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        print(f"{path}: cannot be read ({error}); give a UTF-8 JSONL file", file=sys.stderr)
        return 2
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = read_line(line)
            verdict = judge_case(row)
        except ValueError as error:
            print(f"{path}:{number}: {error}; correct this row", file=sys.stderr)
            broken = True
            continue
        shown = verdict.model_dump(mode="json", include={"strict_ok", "tolerant_ok", "primary", "errors"})
        printed = json.dumps({"id": row.get("id"), **shown}, ensure_ascii=False, default=str)
        print(printed.encode("utf-8", "backslashreplace").decode("utf-8"))  # a lone surrogate becomes its escape
    return 2 if broken else 0


def _gold(call: Any) -> GoldCall:
    arguments = _field(call, "arguments", dict)
    if depth(arguments) > MAX_DEPTH:
        raise ValueError(f"expected is nested deeper than {MAX_DEPTH} levels")
    return GoldCall(
        name=_field(call, "name", str),
        args={key: GoldArgument(any_of=[exact(value)]) for key, value in arguments.items()},
    )


def _field(row: Any, name: str, kind: type) -> Any:
    if not isinstance(row, Mapping) or not isinstance(row.get(name), kind):
        raise ValueError(f"{name} is missing or not {'an object' if kind is dict else f'a {kind.__name__}'}")
    return row[name]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
