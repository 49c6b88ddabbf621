"""How `python -m pipelines.serving analyse` grows with the log: `python -m tests.bench.prefix_bench CHECKPOINT`.

Generates one log of a million rows and analyses its first 10,000, 100,000 and 1,000,000 in a process each. Seconds per
row are those of all its cores, start-up (a log of one row) taken off; memory is the process's peak.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tqdm import tqdm

from evalsets.load import load_qa, load_tools, load_toolsets
from pipelines.engine.record import hardware
from pipelines.serving.generate_log import LogGenerator, Traffic
from pipelines.serving.generated_texts import SuiteTexts
from pipelines.serving.prompt_tokens import PromptTokens

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "evalsets/data"
SIZES = [10_000, 100_000, 1_000_000]
MOST_MEMORY_BYTES, MOST_GROWTH = 2 * 2**30, 1.25
# Shorter texts than `generate` writes, so that a million rows fit on a laptop's disk.
TRAFFIC = Traffic(rate=20.0, handbook_chars=300, tenant_chars=60, answer_chars=40, another_turn=0.3)


@dataclass(frozen=True)
class Cost:
    """What an analysis took."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


def write_log(path: Path, checkpoint: Path, rows: int) -> None:
    """A generated log of so many rows."""
    toolsets = load_toolsets(DATA / "toolsets.json")
    texts = SuiteTexts([*load_qa(DATA / "qa.jsonl"), *load_tools(DATA / "tool_calls.jsonl")], list(TRAFFIC.scenes))
    generator = LogGenerator(TRAFFIC, texts, toolsets, PromptTokens(checkpoint, toolsets).count)
    with path.open("w", encoding="utf-8") as file:
        for row in tqdm(islice(generator.rows(), rows), total=rows, desc="generating", disable=None):
            file.write(row.model_dump_json(exclude_none=True) + "\n")


def cut(source: Path, path: Path, rows: int) -> None:
    """The first rows of a log as a log of its own."""
    with source.open("rb") as whole, path.open("wb") as part:
        part.writelines(islice(whole, rows))


def analyse(log: Path, checkpoint: Path) -> tuple[Cost, str]:
    """What an analysis in a process of its own took, and what it printed."""
    command = [sys.executable, "-m", "pipelines.serving", "analyse", str(log), "--checkpoint", str(checkpoint)]
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"the analysis of {log} failed")
    return Cost(time.monotonic() - started, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss), printed


def main() -> int:
    """Measure, print Markdown; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.prefix_bench", description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder with tokenizer and chat template")
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES, help="default: %(default)s")
    given = parser.parse_args()
    sizes, machine = sorted(given.rows), hardware("cpu")
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "whole.jsonl", Path(folder) / "part.jsonl"
        write_log(whole, given.checkpoint, sizes[-1])
        cut(whole, part, 1)
        start, _ = analyse(part, given.checkpoint)
        costs, printed, log_bytes = {}, "", {}
        for rows in sizes:
            cut(whole, part, rows)
            log_bytes[rows] = part.stat().st_size
            costs[rows], printed = analyse(part, given.checkpoint)
    print(f"measured on {os.cpu_count()} cores of {machine.processor}, {machine.memory_bytes / 2**30:.0f} GiB\n")
    print("| rows | log MB | rows/s | CPU ms per row | times that of the smallest | peak memory MiB |")
    print("|---|---|---|---|---|---|")
    per_row = {rows: (cost.cpu_s - start.cpu_s) / rows for rows, cost in costs.items()}
    for rows, cost in costs.items():
        shown = (
            f"{log_bytes[rows] / 1e6:,.0f}",
            f"{rows / (cost.wall_s - start.wall_s):,.0f}",
            f"{1000 * per_row[rows]:.2f}",
            f"{per_row[rows] / per_row[sizes[0]]:.2f}",
            f"{cost.peak_bytes / 2**20:,.0f}",
        )
        print(f"| {rows:,} | {' | '.join(shown)} |")
    growth = per_row[sizes[-1]] / per_row[sizes[0]]
    met = growth <= MOST_GROWTH and costs[sizes[-1]].peak_bytes <= MOST_MEMORY_BYTES
    print(f"\ngoals, at most {MOST_GROWTH} times the CPU per row and 2 GiB: {'met' if met else 'missed'}\n\n{printed}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
