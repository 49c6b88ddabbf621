"""Eight processes promote and roll back at random: no entry is lost, and one consistent state comes out.

On sqlite they share the lock of one host; on the server each has its own, as on eight hosts. REGISTRY_CONTEST_S
shortens the 60 seconds for development.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from registry.store import journal
from registry.store.apply import holders
from registry.store.history import in_order
from registry.store.mlflow_store import Store
from tests.registry.store.probe import MODEL, make_small, runs_of
from tests.system.place import Place

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 8
SECONDS = float(os.environ.get("REGISTRY_CONTEST_S", "60"))


def start(place: Place, folder: Path, number: int, roots: list[Path]) -> subprocess.Popen[str]:
    lock = "" if place.uri.startswith("sqlite") else str(folder / f"{number}.lock")
    log = folder / f"{number}.log"
    log.touch()
    command = [sys.executable, "-m", "tests.system.promoter", place.uri, lock, str(log), str(number), str(SECONDS)]
    return subprocess.Popen(
        [*command, *map(str, roots)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def contest(place: Place, folder: Path, roots: list[Path]) -> Counter[str]:
    """Let all loose at the same moment; what they did together."""
    processes = [start(place, folder, number, roots) for number in range(PROCESSES)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    done: Counter[str] = Counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        told, _ = process.communicate(timeout=SECONDS + 300)
        assert process.returncode == 0
        done += Counter(json.loads(told))
    return done


def test_no_move_is_lost_and_one_state_comes_out(place: Place, tmp_path: Path) -> None:
    made = [make_small(tmp_path / "1"), make_small(tmp_path / "2", "FAIL"), make_small(tmp_path / "3", build="2")]
    done = contest(place, tmp_path, [run.layout.root for run in made])
    print(f"\n{place.uri.split(':')[0]}: {dict(done)}")
    store = Store(place.uri)
    journal.settle(store, MODEL)

    entries = store.runs.entries(MODEL)
    appended = [line for number in range(PROCESSES) for line in (tmp_path / f"{number}.log").read_text().split()]
    assert sorted(entry.run_id for entry in entries) == sorted(appended)
    assert [entry for entry in entries if entry.is_open] == []
    last = {alias: in_order(entries, alias)[-1].after for alias in {entry.alias for entry in entries}}
    assert holders(store, MODEL) == last
    versions = [version.tags["weights_digest"] for version in store.client.search_model_versions(f"name = '{MODEL}'")]
    assert sorted(versions) == sorted({run.weights(variant) for run in made for variant in run.variants})
    decisions = [run.data.tags["decision_sha256"] for run in runs_of(store, "evaluations")]
    assert len(decisions) == len(set(decisions)) >= len(made)
    assert done["promoted"] >= PROCESSES
    assert done["rolled back"] >= PROCESSES / 2
    assert [what for what in done if what.startswith("MLflow: ")] == []
