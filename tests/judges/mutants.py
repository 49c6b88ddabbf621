"""Mutation tests of the judge's rules: every mutant has to be noticed, or to be listed as changing no verdict.

`python -m tests.judges.mutants` (the interpreter of the environment `quality`) lets cosmic-ray change the rule modules
one place at a time, in copies of the tree, and runs the table tests on each mutant. It prints what was made, killed and
excused, and exits with 1 where a mutant survives that `data/equivalent_mutants.jsonl` does not excuse, where a row of
that file excuses nothing any more, or where the tests fail on the code as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
EXCUSES = Path(__file__).parent / "data" / "equivalent_mutants.jsonl"
RULES = ("values", "number_classes", "string_classes", "scalars", "tool_names", "keys")  # the longest work first
TESTS = ("tests/judges/test_value_rules.py", "tests/judges/test_judge_variants.py", "tests/judges/test_judge_call.py")
COPIED = ("judges", "evalsets", "tests/judges", "pyproject.toml")
# `|` joins types and tables here, for which any other operator is a TypeError or never evaluated; `is` for `==` asks
# what the interpreter keeps only once, which is no rule of the judge.
LEFT_OUT = ("core/ReplaceBinaryOperator_BitOr_.*", "core/ReplaceComparisonOperator_(Eq|NotEq|Lt|LtE|Gt|GtE)_Is(Not)?")
TIMEOUT_S = 30
BIN = Path(sys.executable).parent


class Mutant(NamedTuple):
    """A changed line of code: where it stands, and its text before and after."""

    module: str
    function: str
    was: str
    now: str


def run(modules: Sequence[str]) -> tuple[int, list[Mutant]]:
    """Make and test every mutant of some modules, on all cores: how many there are, and which of them survive."""
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(os.cpu_count()) as workers:
        folders = {name: _copy(Path(made) / name) for name in modules}
        _baseline(folders[modules[0]])
        for name, folder in folders.items():
            _start(folder, name)
        running = [workers.submit(_test, folder) for folder in folders.values()]
        while not all(one.done() for one in running):
            _progress(list(folders.values()))
            time.sleep(1)
        results = [result for one in running for result in one.result()]
    return len(results), [mutant for mutant in results if mutant is not None]


def _copy(folder: Path) -> Path:
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return folder


def _environment() -> dict[str, str]:
    return os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def _command() -> list[str]:
    return [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *TESTS]


def _baseline(folder: Path) -> None:
    done = subprocess.run(_command(), cwd=folder, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: the tests fail on the code as it is; mend that first\n{done.stdout}{done.stderr}")


def _start(folder: Path, module: str) -> None:
    settings = f"""[cosmic-ray]
module-path = "judges/{module}.py"
timeout = {TIMEOUT_S}
excluded-modules = []
test-command = {json.dumps(" ".join(_command()))}
[cosmic-ray.distributor]
name = "local"
[cosmic-ray.filters.operators-filter]
exclude-operators = {json.dumps(LEFT_OUT)}
"""
    (folder / "mutants.toml").write_text(settings, "utf-8")
    for command in (
        ["cosmic-ray", "init", "mutants.toml", "mutants"],
        ["cr-filter-operators", "mutants", "mutants.toml"],
    ):
        subprocess.run([BIN / command[0], *command[1:]], cwd=folder, check=True)


def _test(folder: Path) -> list[Mutant | None]:
    """Test the mutants of one folder, and say of each what it is where it survives, None where it was killed."""
    command = (BIN / "cosmic-ray", "exec", "mutants.toml", "mutants")
    subprocess.run(command, cwd=folder, env=_environment(), check=True)
    return _results(folder)


def _progress(folders: Sequence[Path]) -> None:
    if not sys.stderr.isatty():
        return
    counts = [0, 0]
    for folder in folders:
        with closing(sqlite3.connect(f"file:{folder / 'mutants'}?mode=ro", uri=True)) as database:
            for position, table in enumerate(("work_results", "work_items")):
                counts[position] += database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
    print(f"\r{counts[0]} of {counts[1]} mutants", end="", file=sys.stderr, flush=True)


def _results(folder: Path) -> list[Mutant | None]:
    dump = subprocess.run(
        [BIN / "cosmic-ray", "dump", "mutants"], cwd=folder, capture_output=True, text=True, check=True
    )
    found: list[Mutant | None] = []
    for line in dump.stdout.splitlines():
        item, result = json.loads(line)
        if result is None or result["worker_outcome"] not in ("normal", "skipped"):
            raise SystemExit(f"error: a mutant was not tested: {item}: {result}")
        if result["worker_outcome"] == "normal":
            found.append(None if result["test_outcome"] == "killed" else _mutant(item["mutations"][0], result["diff"]))
    return found


def _mutant(mutation: dict[str, Any], diff: str) -> Mutant:
    changed = [line for line in diff.splitlines() if line[:1] in ("-", "+") and line[:3] not in ("---", "+++")]
    was, now = (" ".join(line[1:].strip() for line in changed if line[0] == sign) for sign in "-+")
    return Mutant(mutation["module_path"], mutation["definition_name"] or "", was, now)


def main() -> int:
    """Run everything and print the summary. Returns the exit code."""
    made, survivors = run(RULES)
    excused = {
        Mutant(row["module"], row["function"], row["was"], row["now"]): row["why"]
        for row in map(json.loads, EXCUSES.read_text("utf-8").splitlines())
    }
    alive = [mutant for mutant in survivors if mutant not in excused]
    idle = [mutant for mutant in excused if mutant not in survivors]
    for mutant in alive:
        print(f"survives: {json.dumps(mutant._asdict(), ensure_ascii=False)}")
    for mutant in idle:
        print(f"excused, but killed or not made: {json.dumps(mutant._asdict(), ensure_ascii=False)}")
    killed, equivalent = made - len(survivors), len(survivors) - len(alive)
    print(f"{made} mutants: {killed} killed, {equivalent} equivalent, {len(alive)} survive")
    return 1 if alive or idle else 0


if __name__ == "__main__":
    sys.exit(main())
