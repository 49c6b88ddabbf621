"""What a run of the registry shows, as a value: numbers, texts, tables and files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

EVALUATION_TABLE = "eval_results_table.json"  # the name that MLflow's comparison of tables looks for


@dataclass(frozen=True)
class Table:
    """Rows under named columns, every cell a text of one line. MLflow's UI shows it as a table that can be sorted."""

    columns: list[str]
    rows: list[list[str]]

    def as_json(self) -> str:
        """The table in the form that MLflow's UI reads."""
        return json.dumps({"columns": self.columns, "data": self.rows}, ensure_ascii=False)


@dataclass(frozen=True)
class Content:
    """One run: its name, a note in Markdown, parameters, metrics, and the files and tables among its artifacts.

    `artifacts` and `tables` are keyed by the path they get in the run.
    """

    name: str
    note: str
    params: dict[str, str]
    metrics: dict[str, float]
    tables: dict[str, Table]
    artifacts: dict[str, Path] = field(default_factory=dict)


def key(name: str) -> str:
    """A name MLflow takes: letters, digits, `_`, `-`, `.`, space and `/`, at most 250 characters."""
    return re.sub(r"[^\w./ -]", "_", name)[:250]
