"""The quantize stage against llm-compressor alone: `python -m tests.bench.quantize_bench [--checkpoint FOLDER]`.

Same base, same frozen calibration rows, same recipe; each in a process of its own, in turns. What the stage adds is its
checks, digests and manifest. Times are wall clock, memory is the process's peak (resident set); medians of the runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import yaml
from tqdm import tqdm

from pipelines.engine.record import hardware
from pipelines.profiles import load_profile, render
from pipelines.stage import QUIET

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venvs/llmcompressor/bin/python"
RECIPES = {"fp8": "quantize/recipes/fp8.yaml", "awq-int4": "quantize/recipes/awq-int4-laptop.yaml"}
GOAL = 1.05
# Module search path of the stages: they run in a folder of their own.
ENVIRONMENT = os.environ | QUIET | {"PYTHONPATH": str(ROOT), "TQDM_DISABLE": "1"}


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    wall_s: float
    peak_bytes: int


def run(command: list[str], folder: Path) -> Cost:
    """What a command took in `folder`; ends the bench with its last words where it failed."""
    with (folder / "said.log").open("w+b") as log:
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=log, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{log.read().decode('utf-8', 'replace')[-2000:]}")
    return Cost(wall_s, 1024 * used.ru_maxrss)


def prepare(folder: Path, checkpoint: Path | None) -> None:
    """A run's folder with params.yaml, base and frozen rows, made by the real stages."""
    if checkpoint is None:
        checkpoint = folder / "tiny"
        run([str(PYTHON), str(ROOT / "tests/end_to_end/tiny_model.py"), str(checkpoint)], folder)
    settings = yaml.safe_load((ROOT / "profiles/local.yaml").read_text("utf-8"))
    settings |= {"profile": "bench", "toolsets": str(ROOT / settings["toolsets"])}
    settings["model"] = {
        "source": "folder",
        "name": "bench",
        "path": str(checkpoint),
        "repo": "bench",
        "revision": "1",
        "licence": "none",
        "stand_in": True,
    }
    settings["calibration"]["file"] = str(ROOT / settings["calibration"]["file"])
    for variant, recipe in RECIPES.items():
        settings["variants"][variant]["recipe"] = str(ROOT / recipe)
    profile = folder / "bench.yaml"
    profile.write_text(yaml.safe_dump(settings), "utf-8")
    (folder / "params.yaml").write_text(render(load_profile(profile), profile), "utf-8")
    for stage in ("fetch", "calibrate"):
        run([str(PYTHON), "-m", f"pipelines.{stage}"], folder)


def measure(folder: Path, variant: str, whose: str) -> Cost:
    """One run of the stage (`ours`) or of llm-compressor alone (`bare`), from nothing."""
    made, target = folder / "runs/bench/checkpoints", folder / "bare"
    for leftover in (made, target):
        shutil.rmtree(leftover, ignore_errors=True)
    if whose == "ours":
        return run([str(PYTHON), "-m", "pipelines.quantize", "--variant", variant], folder)
    script, base = str(ROOT / "tests/bench/bare_quantize.py"), folder / "runs/bench"
    inputs = [str(ROOT / RECIPES[variant]), str(base / "base"), str(base / "calibration.jsonl"), str(target)]
    return run([str(PYTHON), script, *inputs], folder)


def row(variant: str, ours: list[Cost], bare: list[Cost]) -> tuple[str, bool]:
    """A line of the table, and whether both ratios meet the goal."""
    wall = [median(cost.wall_s for cost in costs) for costs in (ours, bare)]
    peak = [median(cost.peak_bytes for cost in costs) / 2**20 for costs in (ours, bare)]
    ratios = wall[0] / wall[1], peak[0] / peak[1]
    shown = [variant, f"{wall[0]:.1f}", f"{wall[1]:.1f}", f"{ratios[0]:.3f}"]
    shown += [f"{peak[0]:,.0f}", f"{peak[1]:,.0f}", f"{ratios[1]:.3f}"]
    return f"| {' | '.join(shown)} |", max(ratios) <= GOAL


def main() -> int:
    """Measure, print Markdown; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.quantize_bench", description=__doc__)
    parser.add_argument("--checkpoint", type=Path, help="the base (default: a tiny random model)")
    parser.add_argument("--runs", type=int, default=3, help="of each, in turns (default: %(default)s)")
    given = parser.parse_args()
    machine = hardware("cpu")
    costs: dict[tuple[str, str], list[Cost]] = {}
    (ROOT / ".work").mkdir(exist_ok=True)  # where the stage's own links are made: on the checkpoints' file system
    with tempfile.TemporaryDirectory(dir=ROOT / ".work") as name:
        folder = Path(name)
        prepare(folder, given.checkpoint and given.checkpoint.resolve())
        # Who goes first changes from run to run: what drifts meets both.
        plan = [
            (variant, whose)
            for variant in RECIPES
            for turn in range(given.runs)
            for whose in (("ours", "bare") if turn % 2 else ("bare", "ours"))
        ]
        for variant, whose in tqdm(plan, desc="quantizing", disable=None):
            costs.setdefault((variant, whose), []).append(measure(folder, variant, whose))
    print(f"measured on {machine.cores} cores of {machine.processor}, {machine.memory_bytes / 2**30:.0f} GiB\n")
    print("| recipe | stage s | alone s | ratio | stage MiB | alone MiB | ratio |")
    print("|---|---|---|---|---|---|---|")
    met = True
    for variant in RECIPES:
        line, good = row(variant, costs[variant, "ours"], costs[variant, "bare"])
        print(line)
        met = met and good
    print(f"\ngoal, at most {GOAL} times the time and the memory of llm-compressor alone: {'met' if met else 'missed'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
