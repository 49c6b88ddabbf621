"""What a fault costs: the log replayed as it is, and once more with that fault repaired. Simulated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from evalsets.items import Message
from pipelines.serving.canonical import keys_sorted, stamps_moved, tools_sorted
from pipelines.serving.prompt_lint import Finding
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.request_log import LoggedRequest
from pipelines.serving.routing import Policy, make_router
from pipelines.serving.simulate import Fleet, simulate
from pipelines.serving.summary import Summary, summarise
from pipelines.serving.volatile import PATTERNS
from pipelines.serving.workload import make_jobs


@dataclass(frozen=True)
class Cost:
    """A fault, and what it costs where it is the only one: prompt tokens per second, and the token hit rate with it.

    None where it has no repair that a gateway can make.
    """

    finding: Finding
    recomputed_tok_s: float | None
    hit_rate: float | None


class Replay:
    """A fleet with a routing policy that a log can be replayed on."""

    def __init__(self, tokens: PromptTokens, fleet: Fleet, policy: Policy, seed: int = 0) -> None:
        self._tokens, self._fleet, self._policy, self._seed = tokens, fleet, policy, seed

    def run(self, requests: Sequence[LoggedRequest]) -> Summary:
        """What the fleet makes of the requests, caches cold at first."""
        jobs = make_jobs(requests, self._tokens, self._fleet.block_size)
        router = make_router(self._policy, self._fleet.replicas, self._seed)
        return summarise(simulate(jobs, self._fleet, router), self._fleet.replicas)

    def costs(self, requests: Sequence[LoggedRequest], findings: Sequence[Finding]) -> tuple[Summary, list[Cost]]:
        """The replay with all faults repaired, and each finding's cost above that, in the order of the findings."""
        clean = self.run(self._repaired(requests, findings))
        found = []
        for finding in findings:
            if finding.part == "earlier turns":
                found.append(Cost(finding, None, None))
                continue
            alone = self.run(self._repaired(requests, [other for other in findings if other != finding]))
            found.append(Cost(finding, alone.computed_tok_s - clean.computed_tok_s, alone.token_hit_rate))
        return clean, found

    def _repaired(self, requests: Sequence[LoggedRequest], findings: Sequence[Finding]) -> list[LoggedRequest]:
        made = list(requests)
        for finding in findings:
            made = [repaired(request, finding, self._tokens) for request in made]
        return made


def repaired(request: LoggedRequest, finding: Finding, tokens: PromptTokens) -> LoggedRequest:
    """The request without one fault: volatile lines moved to the last user turn, tools or their keys in order.

    In a tool's text a volatile span is replaced by its kind. Turns that were rewritten stay as they are.
    """
    if finding.part == "earlier turns":
        return request
    tools = tokens.tools(request)
    if finding.part == "system text" and finding.kind in PATTERNS:
        chat = stamps_moved(request.chat(), PATTERNS[finding.kind])
        return request.model_copy(update={"messages": [Message.model_validate(message) for message in chat]})
    if tools is None:
        return request
    if finding.kind in PATTERNS:
        text = PATTERNS[finding.kind].sub(finding.kind, json.dumps(tools, ensure_ascii=False))
        return request.model_copy(update={"tools": json.loads(text)})
    order = tools_sorted if finding.kind == "unsorted_tools" else keys_sorted
    return request.model_copy(update={"tools": order(tools)})
