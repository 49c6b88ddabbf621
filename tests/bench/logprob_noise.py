"""How far log-probabilities move: `python -m tests.bench.logprob_noise runs/local`, the tolerance of the probes.

The first tokens of every answer, as the probes ask them: whether the other run has the same ones, and how far the
chosen tokens' log-probabilities lie apart. Measured answers of a run on one machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from evalsets.records import read_rows
from evalsets.responses import Logprobs, Response
from pipelines.engine.probes import TOKENS, TOLERANCE

Rows = dict[tuple[str, int], tuple[list[int], list[float]]]


def load(root: Path, run: str) -> Rows:
    """First tokens and log-probabilities of every answer of a run."""
    found: Rows = {}
    for path in sorted((root / "responses" / run).glob("*.logprobs.jsonl")):
        chosen = {(row.item_id, row.run): row.logprobs for row in read_rows(path, Logprobs)}
        for row in read_rows(path.with_name(path.name.replace(".logprobs", "")), Response):
            key = (row.item_id, row.run)
            found[key] = (row.token_ids[:TOKENS], chosen[key][:TOKENS])
    return found


def main() -> None:
    """Print a table of every run against the baseline's."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.logprob_noise", description=__doc__)
    parser.add_argument("root", type=Path, help="the folder of a run")
    parser.add_argument("--baseline", default="bf16")
    given = parser.parse_args()
    before = load(given.root, given.baseline)
    print(f"| run | same first {TOKENS} tokens | largest difference of those | also within {TOLERANCE:g} |")
    print("|---|---|---|---|")
    for folder in sorted(path for path in (given.root / "responses").iterdir() if path.name != given.baseline):
        after = load(given.root, folder.name)
        apart = [
            max((abs(ours - theirs) for ours, theirs in zip(logprobs, after[key][1], strict=True)), default=0.0)
            for key, (tokens, logprobs) in before.items()
            if tokens == after[key][0]
        ]
        within = sum(difference <= TOLERANCE for difference in apart)
        print(f"| {folder.name} | {len(apart)} of {len(before)} | {max(apart):.4f} | {within} |")


if __name__ == "__main__":
    main()
