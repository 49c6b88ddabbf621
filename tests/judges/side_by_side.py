"""This project's judge and bfcl-eval on the same rows: `make side-by-side` prints the tables of docs/side-by-side.md.

The rows are made from the golds of the tool-call suite: wrong answers by one respect each, and right answers in other
spellings. The judge runs here, bfcl-eval in `.venvs/bfcl` through tests/judges/bfcl_rows.py.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsets.items import Tool
from evalsets.load import load_tools, load_toolsets
from evalsets.records import InputError
from evalsets.responses import Response
from judges.calls import judge_call
from tests.judges.side_by_side_rows import Row, right_rows, wrong_rows

ROOT = Path(__file__).parents[2]
DATA = ROOT / "evalsets" / "data"
WORK = ROOT / ".work" / "side-by-side"
BFCL = ROOT / ".venvs" / "bfcl" / "bin" / "python"
ORDER = "call_order"  # no single-turn category of bfcl-eval asks for an order of calls
FAMILIES = ("key_case", "extra_key", "stringified", "enum_case", "float_drift", "id_drift", ORDER, "call_unneeded")


@dataclass(frozen=True, slots=True)
class Count:
    """One line of a table: of `rows`, how many were seen for what they are (wrong by their label, or right)."""

    kind: str
    rows: int
    ours: int


def suite_rows() -> tuple[list[Row], dict[str, list[Tool]]]:
    """All rows of the suite's items that want a call or none, in the tables' order, and the tools by toolset."""
    toolsets = {name: toolset.tools for name, toolset in load_toolsets(DATA / "toolsets.json").items()}
    items = [item for item in load_tools(DATA / "tool_calls.jsonl") if item.expect != "either"]
    wrong = [row for item in items for row in wrong_rows(item, toolsets[item.toolset])]
    right = [row for item in items for row in right_rows(item, toolsets[item.toolset])]
    return [*sorted(wrong, key=_rank), *right], toolsets


def _rank(row: Row) -> tuple[int, str]:
    """Where a wrong answer's class stands in the table: by family, json_syntax last, then by name."""
    label = row.label or ""
    return (FAMILIES.index(label) if label in FAMILIES else len(FAMILIES), row.kind)


def seen(row: Row, tools: Sequence[Tool]) -> bool:
    """Whether the judge's strict verdict is the one the row was made for: right, or wrong by exactly its label."""
    response = Response(item_id=row.item.id, suite="tools", status="ok", raw=row.raw, finish_reason="stop")
    verdict = judge_call(row.item, tools, response, "hermes", engine_reads=False)
    return verdict.strict_ok is (row.label is None) and verdict.primary == row.label


def counts(rows: Sequence[Row], tools: Mapping[str, Sequence[Tool]]) -> list[Count]:
    """A line a class, in the order of the rows."""
    total, ours = Counter[str](), Counter[str]()
    for row in rows:
        total[row.kind] += 1
        ours[row.kind] += seen(row, tools[row.item.toolset])
    return [Count(kind, number, ours[kind]) for kind, number in total.items()]


def written(rows: Sequence[Row], tools: Mapping[str, Sequence[Tool]]) -> list[dict[str, Any]]:
    """The rows as JSON for the other checker: tools, gold calls with their accepted values, and the raw text."""
    return [
        {
            "id": f"{row.item.id}/{number}",
            "functions": [tool.function.model_dump(mode="json") for tool in tools[row.item.toolset]],
            "calls": [_plain(call.model_dump()) for call in row.item.calls],
            "raw": row.raw,
        }
        for number, row in enumerate(rows)
    ]


def _plain(value: Any) -> Any:
    """Decimals as the floats that the same literals are read as by `json.loads`."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | str) else float(value)


def tables(rows: Sequence[Row], lines: Sequence[Count], said: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The two tables in Markdown: wrong answers, then right ones."""
    answers: dict[str, list[Mapping[str, Any]]] = {}
    for row, answer in zip(rows, said, strict=True):
        answers.setdefault(row.kind, []).append(answer)
    wrong = {row.kind: row.label for row in rows if row.label is not None}
    yield "| wrong answers | rows | this judge: rejected by that label | bfcl-eval: rejected | its error types |"
    yield "|---|---|---|---|---|"
    for line in lines:
        if line.kind in wrong:
            asked = wrong[line.kind] != ORDER
            rejected = _share(answers[line.kind], accepted=False) if asked else "cannot ask for an order"
            kinds = _errors(answers[line.kind]) if asked else ""
            yield f"| {line.kind} | {line.rows} | {line.ours} | {rejected} | {kinds} |"
    yield ""
    yield "| right answers | rows | this judge: accepted | bfcl-eval: accepted | its error types |"
    yield "|---|---|---|---|---|"
    for line in lines:
        if line.kind not in wrong:
            accepted = _share(answers[line.kind], accepted=True)
            yield f"| {line.kind} | {line.rows} | {line.ours} | {accepted} | {_errors(answers[line.kind])} |"


def _share(answers: Sequence[Mapping[str, Any]], accepted: bool) -> str:
    asked = [answer["accepted"] for answer in answers if answer["accepted"] is not None]
    share = str(sum(one is accepted for one in asked))
    return share if len(asked) == len(answers) else f"{share} of {len(asked)} it can express"


def _errors(answers: Sequence[Mapping[str, Any]]) -> str:
    """Its types of error, the most frequent first, without the name of the checker that found a call wrong."""
    types = [str(answer["error"]) for answer in answers if answer["accepted"] is False]
    kinds = Counter(re.sub(r"^\w*function_checker\w*:", "", kind) for kind in types)
    return ", ".join(f"`{kind}` {number}" for kind, number in kinds.most_common())


def ask_bfcl(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What bfcl-eval says, from its own environment. Raises InputError where that is not there."""
    if not BFCL.exists():
        raise InputError(f"{BFCL.relative_to(ROOT)}: no such environment; run make side-by-side")
    WORK.mkdir(parents=True, exist_ok=True)
    asked, answered = WORK / "rows.json", WORK / "bfcl.json"
    asked.write_text(json.dumps(rows, ensure_ascii=False, indent=1), "utf-8")
    # It makes folders for results where this variable says, else among its own files.
    environment = os.environ | {"BFCL_PROJECT_ROOT": str(WORK / "bfcl")}
    script = Path(__file__).with_name("bfcl_rows.py")
    subprocess.run([str(BFCL), str(script), str(asked), str(answered)], check=True, env=environment)
    found: dict[str, Any] = json.loads(answered.read_text("utf-8"))
    return found


def main() -> None:
    """Make the rows, ask both, print the tables."""
    rows, tools = suite_rows()
    said = ask_bfcl(written(rows, tools))
    print(f"bfcl-eval {said['version']}, {said['handler']}; {len(rows)} rows\n")
    for line in tables(rows, counts(rows, tools), said["rows"]):
        print(line)
    ordered = [answer["accepted"] for row, answer in zip(rows, said["rows"], strict=True) if row.label == ORDER]
    print(f"\nAsked without an order, bfcl-eval accepts {ordered.count(True)} of the {len(ordered)} rows of {ORDER}.")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"error: {error}")
