"""The runs of the registry: per decision an evaluation and its measurements, and the journal, append-only.

The journal is one run per move.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry.store.calls import every, quoted, unless_there
from registry.store.evaluation import Evaluation
from registry.store.markup import markdown, plain
from registry.store.plan import Move, MoveKind
from registry.store.recording import NOTE, TAG_LIMIT, fill, found_or_made, is_filled

EVALUATIONS = "evaluations"
MEASUREMENTS = "measurements"
PROMOTIONS = "promotions"


@dataclass(frozen=True)
class Entry:
    """A move in the journal. `is_open`: nobody has yet seen the alias follow. Time in ms since the epoch.

    `before` is None where the alias was unset; both it and `after` are weights digests. `variant` and `version` name
    what the alias holds after the move.
    """

    run_id: str
    alias: str
    before: str | None
    after: str
    kind: MoveKind
    reason: str
    decision_sha256: str
    variant: str
    version: str
    time_ms: int
    is_open: bool

    @property
    def order(self) -> tuple[int, str]:
        """Where the entry stands in its alias's journal: the same for every reader, ties included."""
        return self.time_ms, self.run_id


class Runs:
    """Evaluation runs and journal of a store. `artifact_root` None: MLflow or its server says where artifacts go."""

    def __init__(self, client: Any, artifact_root: Path | None) -> None:
        self._client = client
        self._artifact_root = artifact_root

    def record_evaluation(self, evaluation: Evaluation) -> str:
        """The id of a decision's evaluation run; each of its measurements is a run of its own.

        With load profiles it is the run of these: nothing is added to a finished one.

        Creates and fills them, fills what a crash left unfinished, or finds all complete and writes nothing.
        """
        key = {"decision_sha256": evaluation.decision_sha256}
        key |= {"serving_sha256": evaluation.serving_sha256} if evaluation.serving_sha256 else {}
        run = found_or_made(self._client, self._experiment(EVALUATIONS), key, evaluation.content)
        if not is_filled(run):
            experiment = self._experiment(MEASUREMENTS)
            for name, content in evaluation.measurements.items():
                of_run = key | {"run": name}
                measured = found_or_made(self._client, experiment, of_run, content, parent=run.info.run_id)
                if not is_filled(measured):
                    fill(self._client, measured, content)
            fill(self._client, run, evaluation.content)
        return str(run.info.run_id)

    def append(self, model: str, move: Move, to: dict[str, str], decision_sha256: str, last: Entry | None) -> None:
        """Write a move into the journal, open, in one write. `to` describes the version that the alias will hold.

        It comes after `last`, the newest entry of its alias, even where this host's clock is behind.
        """
        tags = {
            "model": model,
            "alias": move.alias,
            "scene": move.scene,
            "from": move.before or "none",
            "to": move.after,
            "kind": move.kind,
            "reason": plain(move.reason)[:TAG_LIMIT],
            NOTE: markdown(move.reason)[:TAG_LIMIT],
            "decision_sha256": decision_sha256,
        }
        time_ms = max(time.time_ns() // 1_000_000, last.time_ms + 1 if last else 0)
        name = f"{move.alias} -> {', '.join(to.values())}{' (rollback)' if move.kind == 'rollback' else ''}"
        tags |= {f"to_{key}": value for key, value in to.items()}
        self._client.create_run(self._experiment(PROMOTIONS), start_time=time_ms, tags=tags, run_name=name)

    def close(self, entry: Entry) -> None:
        """Say that the alias has followed a move."""
        self._client.set_terminated(entry.run_id)

    def last_word(self, model: str, alias: str) -> Entry | None:
        """The newest entry for an alias; every promoter sees the same one."""
        entries = self._entries(f"tags.model = {quoted(model)} and tags.alias = {quoted(alias)}")
        return max(entries, key=lambda entry: entry.order, default=None)

    def entries(self, model: str) -> list[Entry]:
        """The whole journal of a registered model, in no order."""
        return self._entries(f"tags.model = {quoted(model)}")

    def open_entries(self, model: str) -> list[Entry]:
        """Entries that were written down and not seen through."""
        return self._entries(f"tags.model = {quoted(model)} and attributes.status = 'RUNNING'")

    def _entries(self, query: str) -> list[Entry]:
        found = self._client.get_experiment_by_name(PROMOTIONS)
        if found is None:
            return []
        return [_entry(run) for run in every(self._client.search_runs, [found.experiment_id], query)]

    def _experiment(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is None:
            where = str(self._artifact_root / name) if self._artifact_root else None
            unless_there(self._client.create_experiment, name, where)
            found = self._client.get_experiment_by_name(name)
        return str(found.experiment_id)


def _entry(run: Any) -> Entry:
    tags = run.data.tags
    return Entry(
        run_id=run.info.run_id,
        alias=tags["alias"],
        before=None if tags["from"] == "none" else tags["from"],
        after=tags["to"],
        kind="rollback" if tags.get("kind") == "rollback" else "promotion",
        reason=tags["reason"],
        decision_sha256=tags["decision_sha256"],
        variant=tags.get("to_variant", ""),
        version=tags.get("to_version", ""),
        time_ms=run.info.start_time,
        is_open=run.info.status == "RUNNING",
    )
