"""How much the client costs, next to other clients: `python -m tests.bench.client_bench`, a part of `make bench`.

Every client asks one server that answers at once (tests/bench/instant_engine.py), 64 requests at a time, in a process
of its own, round by round, so that a slow moment of the machine is in both sides of a ratio. Figures are medians over
the rounds. The others run in `.venvs/clients` and get the plain reply of the OpenAI API; this project's client gets the
prompt's and the answer's token ids and log-probabilities, checks them and keeps them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from evalsets.records import InputError
from pipelines.engine.record import hardware

ROOT = Path(__file__).parents[2]
FOREIGN = ROOT / "tests/bench/foreign"
CLIENTS = ROOT / ".venvs/clients/bin/python"
AT_ONCE, REQUESTS, ROUNDS = 64, 2000, 5
TIMES_OTHERS, MOST_SHARE = 2.0, 0.03
OURS, WITH_JOURNAL, BARE = "this project", "this project, journal on disk", "bare sockets, nothing read"
# About 640 tokens, as the suites' mean prompt.
MESSAGES = [
    {"role": "system", "content": "You answer questions of a shop about orders, freight and refunds. " * 20},
    {"role": "user", "content": "Where is order QH20260305118204, and who pays its freight? " * 20},
]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one client took for its requests in one round."""

    requests: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds per request."""
        return 1000 * self.cpu_seconds / self.requests


@contextmanager
def instant_engine() -> Iterator[str]:
    """The server in a process of its own; its base URL."""
    command = [sys.executable, "-m", "tests.bench.instant_engine"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe) as server:
        assert server.stdin and server.stdout
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.stdin.close()


def completions(url: str) -> int:
    """How many completions the server was asked for until now."""
    with urllib.request.urlopen(f"{url}/count", timeout=30) as reply:
        return int(reply.read())


def commands(url: str, count: int, at_once: int) -> dict[str, list[str]]:
    """How each client is run, by its name in the table."""
    given = [url, str(count), str(at_once)]
    ours = [sys.executable, "-m", "tests.bench.own_client", *given]
    foreign = {
        "openai, its default transport": ["openai_client.py", *given, "default"],
        "openai, its aiohttp transport": ["openai_client.py", *given, "aiohttp"],
        "lm-evaluation-harness": ["lm_eval_client.py", *given],
    }
    others = {name: [str(CLIENTS), str(FOREIGN / script), *rest] for name, (script, *rest) in foreign.items()}
    bare = [sys.executable, "-m", "tests.bench.bare_client", *given]
    return {OURS: [*ours, "memory"], WITH_JOURNAL: [*ours, "journal"], **others, BARE: bare}


def run_client(command: Sequence[str], count: int) -> Cost:
    """Run one client. Raises `InputError` when it fails or any of its `count` requests was not answered."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        input=json.dumps(MESSAGES),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TQDM_DISABLE": "1"},  # no bar is shown, so none is paid for
    )
    if done.returncode:
        raise InputError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-500:]}")
    cost = Cost(**json.loads(done.stdout))
    if cost.requests != count:
        raise InputError(f"{' '.join(command)}: {cost.requests} of {count} requests were answered; run again")
    return cost


def measured(rounds: int, count: int) -> dict[str, list[Cost]]:
    """The costs of every client, one a round."""
    costs: dict[str, list[Cost]] = {}
    with instant_engine() as url:
        for _ in tqdm(range(rounds), desc="rounds", disable=None):
            for name, command in commands(url, count, AT_ONCE).items():
                costs.setdefault(name, []).append(run_client(command, count))
    return costs


def table(costs: Mapping[str, Sequence[Cost]]) -> str:
    """Medians, and how many requests this project's client makes for each of the other's, by time and by CPU time."""
    lines = [
        "| client | requests/s | CPU ms per request | requests/s: ours / its | per CPU second: ours / its |",
        "|---|---|---|---|---|",
    ]
    for name, rounds in costs.items():
        rate, cpu_ms = (statistics.median(values) for values in zip(*((c.rate, c.cpu_ms) for c in rounds), strict=True))
        times, cpu_times = ratios(costs[OURS], rounds)
        lines.append(f"| {name} | {rate:,.0f} | {cpu_ms:.3f} | {times:.2f} | {cpu_times:.2f} |")
    return "\n".join(lines)


def ratios(ours: Sequence[Cost], others: Sequence[Cost]) -> tuple[float, float]:
    """Medians over the rounds of our requests per second, and per CPU second, over another's in the same round."""
    pairs = list(zip(ours, others, strict=True))
    return (
        statistics.median(our.rate / other.rate for our, other in pairs),
        statistics.median(other.cpu_ms / our.cpu_ms for our, other in pairs),
    )


def item_seconds(folder: Path) -> dict[str, float]:
    """Wall seconds per item of each run whose engine record lies in `folder`, start of the engine not counted."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        suites = record["shared"]["suites"]
        asked = sum(suite["items"] * suite.get("runs", 1) for suite in suites.values())
        found[path.stem] = sum(record["wall_s"][suite] for suite in suites) / asked
    return found


def main() -> int:
    """Measure, print Markdown; 0 when both goals are met, else 1."""
    machine = hardware("cpu")
    costs = measured(ROUNDS, REQUESTS)
    print(f"measured on {machine.cores} cores of {machine.processor}, {machine.memory_bytes / 2**30:.0f} GiB; medians")
    print(f"of {ROUNDS} rounds of {REQUESTS:,} requests, {AT_ONCE} at a time\n\n{table(costs)}\n")
    others = {name: rounds for name, rounds in costs.items() if name not in {OURS, WITH_JOURNAL, BARE}}
    fewest, fewest_cpu = (min(ratios(costs[OURS], rounds)[way] for rounds in others.values()) for way in (0, 1))
    fast = fewest >= TIMES_OTHERS
    said = f"{fewest:.2f} times its requests/s, {fewest_cpu:.2f} times per CPU second"
    print(f"goal, at least {TIMES_OTHERS:g} times the best of the others: {'met' if fast else 'missed'} ({said})\n")
    client_s = statistics.median(cost.cpu_ms for cost in costs[WITH_JOURNAL]) / 1000
    shares = {run: client_s / seconds for run, seconds in item_seconds(ROOT / "evidence/local-full/engine").items()}
    print("| run of evidence/local-full | client's share of the time |\n|---|---|")
    print("\n".join(f"| {run} | {share:.3%} |" for run, share in shares.items()))
    small = max(shares.values()) < MOST_SHARE
    print(f"\ngoal, under {MOST_SHARE:.0%} of a run's time: {'met' if small else 'missed'}")
    return 0 if fast and small else 1


if __name__ == "__main__":
    sys.exit(main())
