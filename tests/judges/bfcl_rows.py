"""Asks bfcl-eval about rows of tests/judges/side_by_side.py. Runs in `.venvs/bfcl`, without this project's packages.

`python tests/judges/bfcl_rows.py ROWS.json RESULT.json`. Each row becomes an entry of a single-turn category as the
leaderboard's data has them, and goes through the steps of `bfcl evaluate`: the handler that reads a Qwen model's
`<tool_call>` blocks, then the AST checker, or the irrelevance rule where no call is wanted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bfcl_eval.constants.enums import Language, ReturnFormat
from bfcl_eval.eval_checker import eval_runner

MODEL = "Qwen/Qwen3-8B-FC"
# The types of its function documents, by those of JSON Schema.
TYPES = {
    "string": "string",
    "integer": "integer",
    "number": "float",
    "boolean": "boolean",
    "array": "array",
    "object": "dict",
}
OMITTED = ""  # among accepted values: the argument may be left out


class NotExpressible(Exception):
    """A schema that its function documents have no words for."""


def document(function: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as a function document."""
    return {**function, "parameters": _typed(function["parameters"])}


def _typed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema in its types. It knows no unions: of `[T, null]` T stays (its checker accepts a null that gold has)."""
    typed = {**schema, "type": TYPES[_kind(schema)]}
    if "properties" in schema:
        typed["properties"] = {key: _typed(inner) for key, inner in schema["properties"].items()}
        typed["required"] = schema.get("required", [])
    if "items" in schema:
        typed["items"] = _typed(schema["items"])
    return typed


def _kind(schema: Mapping[str, Any]) -> str:
    declared = schema.get("type", [])
    kinds = [kind for kind in ([declared] if isinstance(declared, str) else declared) if kind != "null"]
    if len(kinds) != 1 or kinds[0] not in TYPES:
        raise NotExpressible(f"type {declared}")
    return str(kinds[0])


def possible_answer(call: Mapping[str, Any], function: Mapping[str, Any]) -> dict[str, Any]:
    """A gold call with its accepted values; what may be left out or given as its default is marked so."""
    parameters = function["parameters"]
    accepted: dict[str, list[Any]] = {}
    for key, schema in parameters["properties"].items():
        default = [schema["default"]] if "default" in schema else []
        gold = call["args"].get(key)
        if gold is None and not default:
            continue
        values = gold["any_of"] if gold else default
        optional = key not in parameters["required"]
        may_lack = gold is None or gold["omit_ok"] or (optional and default and default[0] in values)
        accepted[key] = [_answer(value, schema) for value in values] + ([OMITTED] if may_lack else [])
    return {call["name"]: accepted}


def _answer(value: Any, schema: Mapping[str, Any]) -> Any:
    """An accepted value in its spelling: members of objects as lists of alternatives, numbers as floats."""
    if isinstance(value, dict):
        return {key: [_answer(inner, schema["properties"][key])] for key, inner in value.items()}
    if isinstance(value, list):
        return [_answer(inner, schema["items"]) for inner in value]
    if _kind(schema) == "number" and value is not None:
        return float(value)
    return value


def ask(row: Mapping[str, Any], handler: Any) -> dict[str, Any]:
    """Whether it accepts the row's raw text, and the type of error where it does not; None where it cannot be asked."""
    functions = {function["name"]: function for function in row["functions"]}
    try:
        entry = {"id": row["id"], "function": [document(function) for function in functions.values()]}
        answers = [possible_answer(call, functions[call["name"]]) for call in row["calls"]]
    except NotExpressible as error:
        return {"id": row["id"], "accepted": None, "error": f"not expressible: {error}"}
    try:
        if not answers:
            said = eval_runner._evaluate_single_relevance_entry(
                handler, row["id"], row["raw"], entry, MODEL, "irrelevance"
            )
        else:
            category = "parallel_multiple" if len(answers) > 1 else "multiple"
            said = eval_runner._evaluate_single_ast_entry(
                handler, row["id"], row["raw"], answers, entry, MODEL, category, Language.PYTHON, ReturnFormat.PYTHON
            )
    except Exception as error:
        return {"id": row["id"], "accepted": False, "error": f"raised {type(error).__name__}"}
    return {"id": row["id"], "accepted": bool(said["valid"]), "error": str(said.get("error_type", ""))}


def main(rows: Path, result: Path) -> None:
    """Ask about every row of a file and write the answers, in the order of the rows."""
    handler = eval_runner.get_handler(MODEL)
    answers = [ask(row, handler) for row in json.loads(rows.read_text("utf-8"))]
    said = {"version": version("bfcl-eval"), "handler": f"{MODEL} ({type(handler).__name__})", "rows": answers}
    result.write_text(json.dumps(said, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
