"""Fuzzes the tool-call judge: `python -m tests.judges.fuzz --count 200000 --seed 1`.

Every input must get a verdict without an exception, strict must imply tolerant, the same input must get the same
verdict again, and memory must stay bounded. Exit 1, with the first inputs at fault, where one of these does not hold.
`--only NUMBER` judges one input of the run again and prints it.
"""

from __future__ import annotations

import argparse
import heapq
import resource
import sys
import time
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tqdm import tqdm

from judges.turn import MAX_BYTES
from judges.verdicts import Verdict
from tests.judges.fuzz_inputs import FORMS, SOURCES, Input, example_input, make_input, seeds
from tests.judges.hostile import HOSTILE

HOSTILE_RATE = 0.01
MEMORY_BYTES = 256 << 20  # by which judging may raise the process's resident memory, all inputs together
_AGAIN = 20  # every so many inputs are judged twice
_WORST = 5  # inputs that are timed again, because a busy machine may have stretched the first time


@dataclass(slots=True)
class Outcome:
    """What a run found. `worst` holds (CPU seconds, number) of the slowest inputs, `grown_bytes` the memory it took."""

    count: int = 0
    twice: int = 0
    strict: int = 0
    tolerant: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    worst: list[tuple[float, int, Input]] = field(default_factory=list)
    grown_bytes: int = 0


def wrong_with(verdict: Verdict, raw: object) -> str | None:
    """What cannot be in a verdict, whatever was judged; None where there is nothing of it."""
    if verdict.tolerant_ok < verdict.strict_ok:
        return "strict without tolerant"
    if not verdict.strict_ok == (verdict.primary is None) == (not verdict.errors):
        return "strict_ok, primary and errors disagree"
    if verdict.errors and verdict.primary != verdict.errors[0].kind:
        return "primary is not the first error"
    for error in verdict.errors:
        if error.span and isinstance(raw, str) and not 0 <= error.span[0] <= error.span[1] <= len(raw):
            return f"span {error.span} outside the text"
    if Verdict.model_validate_json(verdict.model_dump_json()) != verdict:
        return "not the same after writing and reading"
    return None


def fuzz(inputs: Iterable[Input]) -> Outcome:
    """Judge every input, each on its own, and gather what went wrong."""
    outcome = Outcome()
    before = _resident_bytes()
    for number, given in enumerate(inputs):
        outcome.count += 1
        outcome.kinds[given.about.partition(",")[0]] += 1
        started = time.process_time()
        try:
            verdict = given.judge()
            took = time.process_time() - started
            wrong = wrong_with(verdict, given.raw)
            if number % _AGAIN == 0:
                outcome.twice += 1
                wrong = wrong or (None if given.judge() == verdict else "another verdict the second time")
        except Exception:
            outcome.failures.append(f"input {number} ({given.about}): {traceback.format_exc(limit=-3)}")
            continue
        outcome.strict += verdict.strict_ok
        outcome.tolerant += verdict.tolerant_ok
        if wrong:
            outcome.failures.append(f"input {number} ({given.about}): {wrong}")
        heapq.heappush(outcome.worst, (took, number, given))
        if len(outcome.worst) > _WORST:
            heapq.heappop(outcome.worst)
    outcome.grown_bytes = _resident_bytes() - before
    return outcome


def worst_input(outcome: Outcome) -> tuple[float, int, Input]:
    """The slowest input of a run: CPU seconds (the best of three more tries), its number, and the input."""
    return max((min(took, *(_timed(given) for _ in range(3))), number, given) for took, number, given in outcome.worst)


def peak_bytes(given: Input) -> int:
    """The most memory that judging one input holds at a time, beyond the input."""
    tracemalloc.start()
    given.judge()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def describe(given: Input) -> str:
    """An input in one line: what it is, how long, how it begins."""
    length = f"{len(given.raw):,} characters" if isinstance(given.raw, str) else f"{len(given.raw)} entries"
    return f"{given.about}, {length}: {repr(given.raw)[:60] if isinstance(given.raw, str) else 'tool_calls'}"


def _timed(given: Input) -> float:
    started = time.process_time()
    given.judge()
    return time.process_time() - started


def _resident_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def numbered(count: int, seed: int) -> Iterator[Input]:
    """The first `count` inputs of the run that `seed` names."""
    corpus = seeds()
    for number in tqdm(range(count), unit="input", disable=None):
        yield make_input(number, seed, corpus, HOSTILE_RATE)


def longest() -> list[Input]:
    """Every hostile text at the length up to which texts are judged, in every form."""
    return [
        example_input(name, make(int(MAX_BYTES * 0.9)), form, "stop", True)
        for name, make in HOSTILE.items()
        for form in FORMS
    ]


def main() -> int:
    """Run, print what was found, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.judges.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one input")
    given = parser.parse_args()
    if given.only is not None:
        one = make_input(given.only, given.seed, seeds(), HOSTILE_RATE)
        print(describe(one), repr(one.raw)[:2000], one.judge().model_dump_json(indent=2), sep="\n")
        return 0
    outcome = fuzz(numbered(given.count, given.seed))
    took, number, slowest = worst_input(outcome)
    peaks = [(peak_bytes(one), describe(one)) for one in tqdm(longest(), unit="input", disable=None)]
    print(f"{outcome.count:,} inputs, seed {given.seed}: {len(outcome.failures)} failures")
    print(f"judged twice: {outcome.twice:,}; strictly right: {outcome.strict:,}; tolerantly: {outcome.tolerant:,}")
    made = [(kind, outcome.kinds.pop(kind)) for kind in SOURCES]
    print("; ".join(f"{kind}: {count:,}" for kind, count in [*made, ("hostile", outcome.kinds.total())]))
    print(f"slowest: {1000 * took:.1f} ms CPU, input {number}, {describe(slowest)}")
    print(f"resident memory grew by {outcome.grown_bytes / 2**20:.0f} MiB at most, {MEMORY_BYTES >> 20} allowed")
    print(f"most held for one input: {max(peaks)[0] / 2**20:.1f} MiB, {max(peaks)[1]}")
    print(*outcome.failures[:5], sep="\n")
    return 1 if outcome.failures or outcome.grown_bytes > MEMORY_BYTES else 0


if __name__ == "__main__":
    sys.exit(main())
