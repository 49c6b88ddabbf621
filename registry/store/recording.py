"""Runs with content in MLflow: found by their tags, created once, filled repeatably, finished last."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from registry.store.calls import every, quoted
from registry.store.content import Content

NOTE = "mlflow.note.content"
PARENT = "mlflow.parentRunId"
TABLES = "mlflow.loggedArtifacts"
TAG_LIMIT = 8000  # characters that MLflow takes as the value of a run's tag


def found_or_made(client: Any, experiment: str, key: dict[str, str], content: Content, parent: str = "") -> Any:
    """The one run whose tags are `key`, created where there is none.

    A promoter on another host may have created one in between: everybody takes the first, and whoever made a later one
    takes it back.
    """
    found = _first(client, experiment, key)
    if found is not None:
        return found
    shown = [{"path": path, "type": "table"} for path in content.tables]
    tags = key | {NOTE: content.note[:TAG_LIMIT], TABLES: json.dumps(shown)} | ({PARENT: parent} if parent else {})
    made = client.create_run(experiment, tags=tags, run_name=content.name)
    first = _first(client, experiment, key)
    if first is None or first.info.run_id == made.info.run_id:
        return made
    client.delete_run(made.info.run_id)
    return first


def fill(client: Any, run: Any, content: Content) -> None:
    """Write parameters, metrics, tables and files, then finish the run.

    Repeatable: a metric of the same value and time is the same row, and so is a parameter of the same value.
    """
    run_id = run.info.run_id
    client.log_values(run_id, content.params, content.metrics, run.info.start_time)
    with tempfile.TemporaryDirectory() as folder:
        for path, table in content.tables.items():
            _made(folder, path).write_text(table.as_json(), "utf-8")
        for path, file in content.artifacts.items():
            shutil.copyfile(file, _made(folder, path))
        client.log_artifacts(run_id, folder)
    client.set_terminated(run_id)


def is_filled(run: Any) -> bool:
    """Whether a run was filled to its end."""
    return bool(run.info.status == "FINISHED")


def _made(folder: str, path: str) -> Path:
    """A place for a file, with the folders that it needs."""
    file = Path(folder) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _first(client: Any, experiment: str, key: dict[str, str]) -> Any:
    query = " and ".join(f"tags.{name} = {quoted(value)}" for name, value in key.items())
    runs = every(client.search_runs, [experiment], query)
    return min(runs, key=lambda run: (run.info.start_time, run.info.run_id), default=None)
