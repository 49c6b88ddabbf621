"""What each subcommand of `python -m pipelines.serving` does: read, call, print or write."""

from __future__ import annotations

import os
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

from tqdm import tqdm

from evalsets.items import Item
from evalsets.load import load_qa, load_tools, load_toolsets
from evalsets.records import InputError, write_atomic
from pipelines.serving.fleet_events import WINDOW_S, EventReplay
from pipelines.serving.generate_log import LogGenerator, Traffic
from pipelines.serving.generated_texts import SuiteTexts
from pipelines.serving.lint_cost import Replay
from pipelines.serving.log_queries import PrefixTable
from pipelines.serving.prompt_lint import PromptLint
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.request_log import LoggedRequest, LogSource, read_log
from pipelines.serving.routing import make_router
from pipelines.serving.routing_plot import routing_plot
from pipelines.serving.simulate import Fleet, simulate
from pipelines.serving.summary import Summary, summarise
from pipelines.serving.tables import (
    averages_table,
    costs_table,
    findings_table,
    policies_table,
    table,
    tenants_table,
)
from pipelines.serving.workload import make_jobs

FAULTS = 1


def generate(given: Namespace) -> int:
    """Write a generated log as JSONL."""
    items: list[Item] = [*load_qa(given.qa), *load_tools(given.tools)]
    traffic = Traffic(
        seed=given.seed, rate=given.rate, tenants=given.tenants, stamp=given.stamp, shuffle=frozenset(given.shuffle)
    )
    texts = SuiteTexts(items, list(traffic.scenes))
    generator = LogGenerator(traffic, texts, load_toolsets(given.toolsets), _tokens(given).count)
    with _written(given.out) as file:
        rows = islice(generator.rows(), given.requests)
        for row in tqdm(rows, total=given.requests, desc="generating", disable=None):
            file.write(row.model_dump_json(exclude_none=True) + "\n")
    return 0


def analyse(given: Namespace) -> int:
    """Print average tokens and what is shared."""
    with PrefixTable(_tokens(given), given.block_size) as counted:
        for request in _read(given):
            counted.add(request)
        print(averages_table(counted.averages()))
    return 0


def lint(given: Namespace) -> int:
    """Print faults and their cost; 1 where there are any."""
    tokens, faults, requests = _tokens(given), PromptLint(), []
    for request in _read(given):
        faults.add(request, tokens.tools(request))
        if given.cost:
            requests.append(request)
    if not (findings := faults.findings()):
        print("no faults: nothing before the last user turn changes from request to request")
        return 0
    print(findings_table(findings))
    if given.cost:
        clean, costs = Replay(tokens, _fleet(given), given.policy[0]).costs(requests, findings)
        print(f"\n{costs_table(clean, costs)}\n\n{_about(given)}; routing: {given.policy[0]}")
    return FAULTS


def simulate_log(given: Namespace) -> int:
    """Print the routing policies side by side, and events where wanted; draw them where wanted."""
    tokens, fleet, requests = _tokens(given), _fleet(given), list(_read(given))
    jobs = make_jobs(requests, tokens, fleet.block_size)
    found: dict[str, Summary] = {}
    for policy in tqdm(given.policy, desc="simulating", disable=None):
        router = make_router(policy, fleet.replicas, given.seed)
        found[policy] = summarise(simulate(jobs, fleet, router), fleet.replicas)
    print(f"{policies_table(found)}\n\n{tenants_table(found)}")
    if given.events:
        replay = EventReplay(requests, tokens, fleet, given.event_policy)
        head = ["event (simulated)", f"hit rate in the next {WINDOW_S:.0f} s", "worst window: more computed tok/s"]
        head.append("more computed tokens in all")
        quota_head = ["quota of the largest tenant (simulated)", "its hit rate", "that of all others", "refused"]
        print(f"\n{table(head, replay.rows())}\n\n{table(quota_head, replay.quota_rows())}")
        print(f"\nrouting at these events: {given.event_policy}")
    print(f"\n{_about(given)}")
    if given.plot:
        write_atomic(given.plot, routing_plot(found).encode())
    return 0


def _tokens(given: Namespace) -> PromptTokens:
    return PromptTokens(given.checkpoint, load_toolsets(given.toolsets))


def _read(given: Namespace) -> Iterator[LoggedRequest]:
    source, empty = LogSource(given.log, given.table), True
    for request in tqdm(read_log(source), desc="reading", disable=None):
        empty = False
        yield request
    if empty:
        raise InputError(f"{source.shown}: the log has no rows; give one with requests in it")


def _fleet(given: Namespace) -> Fleet:
    return Fleet(
        replicas=given.replicas,
        blocks=given.kv_tokens // given.block_size,
        block_size=given.block_size,
        max_num_seqs=given.max_num_seqs,
        prefill_tok_s=given.prefill_tok_s,
        inter_token_s=given.inter_token_s,
    )


def _about(given: Namespace) -> str:
    return (
        f"simulated: {given.replicas} replicas of {given.kv_tokens:,} KV tokens in blocks of {given.block_size}, at "
        f"most {given.max_num_seqs} sequences; assumed {given.prefill_tok_s:,.0f} prompt tok/s and "
        f"{given.inter_token_s} s per output token"
    )


@contextmanager
def _written(path: Path) -> Iterator[IO[str]]:
    """A file that is there in whole or not at all, however long it takes to write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
