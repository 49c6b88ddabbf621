"""How fast the tool-call judge is: `make bench`. Medians of CPU time on one core, with the machine named.

Measured are the verdicts on the raw text, and those with the pipeline's second verdict on the calls that the engine
parsed ("both"). Next to them is a floor on the same rows in the same run: `json.loads` and a jsonschema validation of
the arguments and nothing else, with the texts cut out and the validators built beforehand.
"""

from __future__ import annotations

import gc
import json
import math
import re
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import referencing
from tqdm import tqdm

from evalsets.items import Dialect, FunctionCall, Tool, ToolItem
from evalsets.load import load_tools, load_toolsets
from evalsets.records import read_rows
from evalsets.responses import EngineParse, Response
from judges.calls import judge_call
from judges.golds import gold_arguments, render
from judges.mutations import gold_completion
from pipelines.engine.record import hardware
from tests.bench.families import FAMILIES, TOOLS, Family
from tests.judges.fuzz import fuzz, longest, numbered, worst_input

ROOT = Path(__file__).parent.parent.parent
REPEATS = 41  # passes over a suite
ROUNDS = 21  # over the lengths of a family
LENGTHS = [1024 << step for step in range(7)]
FUZZED = 20_000
VERDICTS_PER_S, TIMES_FLOOR = 3000, 4
# 2 is linear. The clock of a shared machine and the collector of garbage add up to a seventh; what is quadratic shows
# as 3 and more in the last doublings.
GROWTH_PER_DOUBLING = 2.3

Row = tuple[ToolItem, list[Tool], Response]
_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)


def recorded() -> tuple[str, list[Row]]:
    """The tool suite with the answers at hand: of a committed run, else of a local one; else the golds themselves."""
    for pattern in ("evidence/*/responses/*/tools.jsonl", "runs/*/responses/*/tools.jsonl"):
        paths = sorted(ROOT.glob(pattern))
        if rows := _joined([response for path in paths for response in read_rows(path, Response)]):
            return f"{len(paths)} runs, {pattern.partition('/')[0]}/", rows
    return "golds", golds()


def golds() -> list[Row]:
    """The whole tool suite, every item answered by its gold."""
    return _joined([_right(item) for item in load_tools(ROOT / "evalsets/data/tool_calls.jsonl")])


def _right(item: ToolItem) -> Response:
    raw = gold_completion(item, "hermes")
    calls = [FunctionCall(name=call.name, arguments=render(gold_arguments(call))) for call in item.calls]
    parsed = EngineParse(content=None if calls else raw, tool_calls=calls)
    return Response(item_id=item.id, suite="tools", status="ok", raw=f"{raw}<|im_end|>", parsed=parsed)


def _joined(responses: Sequence[Response]) -> list[Row]:
    items = {item.id: item for item in load_tools(ROOT / "evalsets/data/tool_calls.jsonl")}
    toolsets = load_toolsets(ROOT / "evalsets/data/toolsets.json")
    known = [(items[response.item_id], response) for response in responses if response.item_id in items]
    return [(item, toolsets[item.toolset].tools, response) for item, response in known]


def judge_rows(rows: Sequence[Row], dialect: Dialect, engine_reads: bool) -> None:
    """A verdict on every row, as the pipeline makes it."""
    for item, tools, response in rows:
        judge_call(item, tools, response, dialect, engine_reads)


def floor(rows: Sequence[Row]) -> Callable[[], None]:
    """What parses the calls of every row and validates their arguments, made ready."""
    ready = [([*_texts(response.raw)], _validators(tools)) for _, tools, response in rows]

    def parse_and_validate() -> None:
        for texts, validators in ready:
            for text in texts:
                try:
                    call = json.loads(text)
                except ValueError:
                    continue
                validator = validators.get(str(call.get("name"))) if isinstance(call, dict) else None
                if validator is not None:
                    validator.is_valid(call.get("arguments"))

    return parse_and_validate


def _texts(raw: str) -> list[str]:
    return _BLOCK.findall(raw) or [raw.removesuffix("<|im_end|>")]


def _validators(tools: Sequence[Tool]) -> dict[str, jsonschema.Draft202012Validator]:
    none = referencing.Registry[bool | Mapping[str, Any]]()
    return {
        tool.function.name: jsonschema.Draft202012Validator(tool.function.parameters, registry=none) for tool in tools
    }


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds that this process spends on `work`."""
    started = time.process_time()
    work()
    return time.process_time() - started


def show_speed(about: str, rows: Sequence[Row]) -> bool:
    """Measure and print one set of rows; whether the verdicts on the raw text meet both goals."""
    text, both = partial(judge_rows, rows, "hermes", False), partial(judge_rows, rows, "hermes", True)
    ways: tuple[Callable[[], None], ...] = (text, both, floor(rows))
    verdicts = (len(rows), len(rows) + sum(answer.parsed is not None for _, _, answer in rows), len(rows))
    times = [
        [_warm_s(way) / count for way, count in zip(ways, verdicts, strict=True)]
        for _ in tqdm(range(REPEATS), desc=about, disable=None)
    ]
    text_s, both_s, floor_s = (statistics.median(column) for column in zip(*times, strict=True))
    text_times, both_times = (statistics.median(row[way] / row[2] for row in times) for way in (0, 1))
    shown = (
        f"{1 / text_s:,.0f}",
        f"{text_times:.1f}",
        f"{1 / both_s:,.0f}",
        f"{both_times:.1f}",
        f"{1 / floor_s:,.0f}",
    )
    print(f"| {about} | {len(rows)} | {' | '.join(shown)} |")
    return 1 / text_s >= VERDICTS_PER_S and text_times <= TIMES_FLOOR


def _warm_s(work: Callable[[], object]) -> float:
    """CPU seconds of the second of two passes: in a run nothing else comes between."""
    work()
    return cpu_s(work)


def show_growth(family: Family) -> float:
    """Measure and print one family; the largest growth per doubling of the length."""
    sizes, works = zip(*(_work(family, length) for length in LENGTHS), strict=True)
    loops = [max(1, int(0.002 / cpu_s(work))) for work in works]
    # Round by round over all lengths, so that a slow moment of the machine is in both sides of a ratio.
    rounds = [
        [cpu_s(partial(_repeat, work, count)) / count for work, count in zip(works, loops, strict=True)]
        for _ in range(ROUNDS)
    ]
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
    growth: list[float] = []
    for step, (shorter, longer) in enumerate(pairwise(sizes)):
        ratio = statistics.median(row[step + 1] / row[step] for row in rounds)
        growth.append(ratio ** (1 / math.log2(longer / shorter)))  # whole units do not quite double
    shown = " ".join(f"{ratio:.2f}" for ratio in growth)
    print(f"| {family.group} | {family.name} | {1000 * medians[0]:.2f} | {1000 * medians[-1]:.1f} | {shown} |")
    return max(growth)


def _work(family: Family, length: int) -> tuple[int, Callable[[], object]]:
    """The length in bytes of a family's completion of about `length`, and what judges it."""
    item, raw, dialect = family.make(length)
    answer = Response(item_id=item.id, suite="tools", status="ok", raw=raw, finish_reason="stop")
    work = partial(judge_call, item, TOOLS, answer, dialect, False)
    size = len(raw.encode())
    if work().strict_ok != (family.group == "right") or size > length:
        raise ValueError(f"{family.name}: at {length} bytes this is no answer of its group")
    return size, work


def _repeat(work: Callable[[], object], count: int) -> None:
    for _ in range(count):
        work()


def main() -> int:
    """Measure, print Markdown, return 0."""
    machine = hardware("cpu")
    print(f"measured on one core of {machine.processor}, {machine.memory_bytes / 2**30:.0f} GiB; medians of CPU time\n")
    source, rows = recorded()
    gc.collect()
    gc.freeze()  # what the imports and the rows hold is not the judge's to walk through
    print("| answers | rows | raw text: verdicts/s | times the floor | both: verdicts/s | times the floor | floor/s |")
    print("|---|---|---|---|---|---|---|")
    met = [show_speed(f"real ({source})", rows), show_speed("golds, all right", golds())]
    goals = f"{VERDICTS_PER_S:,} verdicts/s on raw text, at most {TIMES_FLOOR} times the floor"
    print(f"\ngoals, {goals}: {'met' if all(met) else 'missed'}\n")
    print("| group | family | ms at 1 kB | ms at 64 kB | growth per doubling, 1 to 64 kB |")
    print("|---|---|---|---|---|")
    largest = max([show_growth(family) for family in FAMILIES])
    linear = "met" if largest <= GROWTH_PER_DOUBLING else "missed"
    print(f"\ngoal, no faster than linear (at most {GROWTH_PER_DOUBLING}): {linear}, largest {largest:.2f}\n")
    outcome = fuzz([*longest(), *numbered(FUZZED, 1)])
    took, _, slowest = worst_input(outcome)
    print(f"slowest of {outcome.count:,} fuzzed inputs: {1000 * took:.0f} ms ({slowest.about})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
