"""Looking into a registry under test: what it holds, and what is written to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.layout import Layout
from registry.gate.decision import Outcome
from registry.store.apply import Target, promote
from registry.store.bundle import Bundle
from registry.store.load import load_bundle
from registry.store.mlflow_store import Store
from registry.store.promotion import Promotion
from tests.registry.store.fake_run import FakeRun, Verdicts

MODEL = "qwen-test"
FP8: Verdicts = {"qa": [("awq-int4", "FAIL"), ("fp8", "PASS"), ("bf16", "PASS")], "contract": [("bf16", "PASS")]}
NONE: Verdicts = {"qa": [("awq-int4", "FAIL"), ("fp8", "FAIL"), ("bf16", "PASS")], "contract": [("bf16", "PASS")]}
WRITES = ("create_", "set_", "delete_", "update_", "log_")


class Watched:
    """A client that lists its writes, and calls `after` behind each of them."""

    def __init__(self, client: Any, after: Callable[[], object]) -> None:
        self.client = client
        self._after = after
        self.writes: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)
        if not name.startswith(WRITES):
            return method

        def call(*args: Any, **named: Any) -> Any:
            result = method(*args, **named)
            self.writes.append(name)
            self._after()
            return result

        return call


class At:
    """Does `action` when it is called for the `count`-th time."""

    def __init__(self, count: int, action: Callable[[], object]) -> None:
        self._left = count
        self._action = action

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._action()


def watch(store: Store, after: Callable[[], object] = lambda: None) -> Watched:
    unwatch(store)
    watched = Watched(store.client, after)
    store.client = store.runs._client = watched
    return watched


def unwatch(store: Store) -> None:
    if isinstance(store.client, Watched):
        store.client = store.runs._client = store.client.client


def copy_database(source: Path, target: Path) -> None:
    """Make `target` what `source` is now, under the feet of whoever has it open."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def make_run(folder: Path, verdicts: Verdicts = FP8, **settings: Any) -> FakeRun:
    run = FakeRun(Layout(folder / "local"), verdicts, **settings)
    run.write()
    return run


def make_small(folder: Path, outcome: Outcome = "PASS", **settings: Any) -> FakeRun:
    """A run with one scene and one candidate, fp8."""
    return make_run(folder, {"qa": [("fp8", outcome), ("bf16", "PASS")]}, variants=["bf16", "fp8"], **settings)


def bundle_of(run: FakeRun) -> Bundle:
    """A run's evidence, made quick to record."""
    return quick_bundle(run.layout.root)


def quick_bundle(root: Path) -> Bundle:
    """The evidence at `root` with one artifact and one measurement: what holds between two holds before the last."""
    bundle = load_bundle(root)
    return replace(
        bundle,
        artifacts={"decision.json": bundle.artifacts["decision.json"]},
        metrics={"fp8": bundle.metrics["fp8"]},
    )


def target(store: Store, run: FakeRun) -> Target:
    return Target(store, MODEL, {variant: run.layout.checkpoint(variant) for variant in run.variants})


def promoted(store: Store, run: FakeRun) -> Promotion:
    return promote(load_bundle(run.layout.root), target(store, run))[1]


def runs_of(store: Store, experiment: str) -> list[Any]:
    """The runs of an experiment, the oldest first; none where there is no experiment."""
    found = store.client.get_experiment_by_name(experiment)
    order = ["attributes.start_time ASC"]
    return list(store.client.search_runs([found.experiment_id], "", order_by=order)) if found else []


def artifacts(store: Store, run: Any) -> dict[str, bytes]:
    """What an MLflow client gets of a run's artifacts, by path."""
    folder = Path(store.client.download_artifacts(run.info.run_id, ""))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def journal(store: Store) -> list[dict[str, str]]:
    """The tags of every move in the order of the journal."""
    runs = runs_of(store, "promotions")
    assert all(run.info.status == "FINISHED" for run in runs)
    return [run.data.tags for run in runs]


def state(store: Store) -> dict[str, Any]:
    """Everything of the registry that a second promotion must leave as it is."""
    versions = store.client.search_model_versions(f"name = '{MODEL}'")
    recorded = [run for name in ("evaluations", "measurements") for run in runs_of(store, name)]
    return {
        "aliases": {alias: held.tags["variant"] for alias, held in sorted(store.aliases(MODEL).items())},
        "versions": sorted((version.tags["variant"], version.tags["weights_digest"]) for version in versions),
        "verdicts": sorted((version.tags["variant"], version.tags["verdict.qa"]) for version in versions),
        "descriptions": sorted(version.description for version in versions),
        "recorded": [(run.info.run_name, run.info.status, run.data.params, run.data.metrics) for run in recorded],
        "journal": [(tags["alias"], tags["from"], tags["to"]) for tags in journal(store)],
    }
