"""A process that acts on a registry: promotes and rolls back at random, or ends itself behind one of its writes.

`python -m tests.system.promoter URI LOCK LOG SEED SECONDS RUN...` says `ready`, waits for a line, then promotes the
runs and rolls them back for so many seconds. LOG gets the id of every journal entry that it appended. At last it prints
what it did as one line of JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from evalsets.records import InputError, digest
from registry.store.apply import Target, promote, roll_back
from registry.store.bundle import Bundle
from registry.store.calls import RegistryError
from registry.store.mlflow_store import Store
from tests.registry.store.probe import MODEL, At, quick_bundle, watch

SCENE = "qa"
ROLLBACK_SHARE = 0.3
FRESH_SHARE = 0.3  # without any, soon every decision was taken back and nothing moves any more


class Noting:
    """A client that notes the id of every journal entry that it creates, before anybody may go on."""

    def __init__(self, client: Any, log: Path) -> None:
        self._client = client
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def create_run(self, *args: Any, **named: Any) -> Any:
        run = self._client.create_run(*args, **named)
        if "alias" in named.get("tags", {}):
            with self._log.open("a") as log:
                log.write(f"{run.info.run_id}\n")
        return run


def promote_at(store: Store, root: Path, bundle: Bundle | None = None) -> None:
    """Promote the finished run that lies at `root`."""
    found = bundle or quick_bundle(root)
    promote(found, Target(store, MODEL, {name: root / "checkpoints" / name for name in found.decision.weights}))


def act_and_die(uri: str, root: Path | None, count: int) -> None:
    """Promote the run at `root`, or without one roll back; the process ends by SIGKILL behind its `count`-th write."""
    store = Store(uri)
    watch(store, At(count, lambda: os.kill(os.getpid(), signal.SIGKILL)))
    if root is not None:
        promote_at(store, root)
    else:
        roll_back(store, MODEL, SCENE, "it drifted")


def anew(bundle: Bundle, chance: random.Random) -> Bundle:
    """The same evidence decided anew: a decision that nobody has taken back yet."""
    decided = {"policy_sha256": digest(chance.random())}
    return replace(bundle, decision=bundle.decision.model_copy(update=decided))


def act_at_random(store: Store, roots: list[Path], seed: int, seconds: float) -> Counter[str]:
    """How often what was done, by outcome."""
    chance = random.Random(seed)
    bundles = [(root, quick_bundle(root)) for root in roots]
    done: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if chance.random() < ROLLBACK_SHARE:
                roll_back(store, MODEL, SCENE, f"process {seed} says so")
                done["rolled back"] += 1
            else:
                root, bundle = chance.choice(bundles)
                promote_at(store, root, anew(bundle, chance) if chance.random() < FRESH_SHARE else bundle)
                done["promoted"] += 1
        except RegistryError as error:
            done[f"MLflow: {error}"] += 1
        except InputError as error:
            done[f"refused: {error}"] += 1
    return done


def main() -> None:
    """Take part in a contest, as the module's text says."""
    uri, lock, log, seed, seconds, *roots = sys.argv[1:]
    store = Store(uri)
    if lock:
        store._lock = FileLock(lock, timeout=0)
    store.client = store.runs._client = Noting(store.client, Path(log))
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(act_at_random(store, [Path(root) for root in roots], int(seed), float(seconds))))


if __name__ == "__main__":
    main()
