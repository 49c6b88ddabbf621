"""A request log out of the suites, seeded: skewed tenants, sessions with turns, Poisson arrivals, scenes by traffic.

It stands in for a log of users where there is none; every row says `generated`. Pure: the same settings and items give
the same rows.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Literal

from evalsets.items import Item, Lang, Message, ToolItem, Toolset
from pipelines.serving.canonical import keys_sorted, tools_sorted
from pipelines.serving.generated_texts import STAMP, SuiteTexts
from pipelines.serving.request_log import LoggedRequest

START = datetime(2026, 3, 5, 9, 0, tzinfo=UTC)
LEAST_THINK_S = 5.0


@dataclass(frozen=True)
class Traffic:
    """What the log looks like. `rate` in requests per second, text lengths in characters (of Chinese), times in s.

    A tenant's share of the sessions falls with its rank to the power of `zipf`. After each turn a session goes on with
    the chance `another_turn`. System texts are a handbook, the same for all tenants of a scene, and `tenant_chars` of
    the tenant's own. `stamp` puts the time to the minute at the head of the system text or the end of the last user
    turn; `shuffle` puts tools or their keys in another order in each request. Without these, prompts are canonical.
    """

    seed: int = 1
    rate: float = 2.0
    scenes: Mapping[str, float] = field(default_factory=lambda: {"qa": 0.61, "tools": 0.35, "contract": 0.04})
    tenants: int = 40
    zipf: float = 1.1
    another_turn: float = 0.45
    think_s: float = 45.0
    handbook_chars: int = 2600
    tenant_chars: int = 190
    answer_chars: int = 600
    stamp: Literal["none", "system", "user"] = "none"
    shuffle: frozenset[Literal["tools", "keys"]] = frozenset()


@dataclass
class _Session:
    """A conversation under way: what every request of it repeats, and what has been said."""

    number: int
    tenant: int
    scene: str
    first: Item
    system: str
    pool: list[Item]
    history: list[Message]
    turn: int = 0


class LogGenerator:
    """Rows without end, by time. `answer_tokens` counts those of an answer's text."""

    def __init__(
        self, traffic: Traffic, texts: SuiteTexts, toolsets: Mapping[str, Toolset], answer_tokens: Callable[[str], int]
    ) -> None:
        self._traffic = traffic
        self._texts = texts
        self._random = random.Random(traffic.seed)
        self._tools = {
            name: keys_sorted(tools_sorted([tool.model_dump() for tool in found.tools]))
            for name, found in toolsets.items()
        }
        self._answer_tokens = answer_tokens
        self._counted: dict[str, int] = {}
        self._tenant_weights = [1 / rank**traffic.zipf for rank in range(1, traffic.tenants + 1)]

    def rows(self) -> Iterator[LoggedRequest]:
        """The log. Sessions start as a Poisson process, so often that requests come at `rate` on average."""
        traffic = self._traffic
        pending: list[tuple[float, int, _Session]] = []
        starts_s = 0.0
        for number in count():
            starts_s += self._random.expovariate(traffic.rate * (1 - traffic.another_turn))
            while pending and pending[0][0] <= starts_s:
                at_s, order, session = heapq.heappop(pending)
                yield self._row(session, at_s)
                if self._random.random() < traffic.another_turn:
                    think_s = LEAST_THINK_S + self._random.expovariate(1 / (traffic.think_s - LEAST_THINK_S))
                    heapq.heappush(pending, (at_s + think_s, order, session))
            heapq.heappush(pending, (starts_s, number, self._session(number)))

    def _session(self, number: int) -> _Session:
        traffic, texts = self._traffic, self._texts
        tenant = self._random.choices(range(traffic.tenants), self._tenant_weights)[0]
        scene = self._random.choices(list(traffic.scenes), list(traffic.scenes.values()))[0]
        lang: Lang = "en" if tenant % 3 == 2 else "zh"
        first = self._random.choice(texts.items(scene, lang))
        pool = texts.items(scene, lang, first.cluster if scene == "tools" else None)
        system = texts.system(first, tenant, traffic.handbook_chars, traffic.tenant_chars)
        return _Session(number, tenant, scene, first, system, pool, [])

    def _row(self, session: _Session, at_s: float) -> LoggedRequest:
        item = self._random.choice(session.pool) if session.turn else session.first
        time = START + timedelta(milliseconds=round(1000 * at_s))
        session.turn += 1
        session.history += self._texts.question(item, self._random.randrange(10**9, 10**10))
        stamp = STAMP[item.lang].format(time)
        if self._traffic.stamp == "user":
            _append_to_last_user(session.history, stamp)
        head = f"{stamp}\n" if self._traffic.stamp == "system" else ""
        answer = self._texts.answer(item, self._traffic.answer_chars)
        if answer not in self._counted:
            self._counted[answer] = self._answer_tokens(answer) + 1  # and the token that ends it
        row = LoggedRequest(
            time=time,
            tenant=f"t{session.tenant:03}",
            scene=session.scene,
            session=f"s{session.number:07}",
            turn=session.turn,
            messages=[Message(role="system", content=head + session.system), *session.history],
            tools=self._offered(session.first),
            output_tokens=self._counted[answer],
            generated=True,
        )
        session.history.append(Message(role="assistant", content=answer))
        return row

    def _offered(self, first: Item) -> list[dict[str, Any]] | None:
        if not isinstance(first, ToolItem):
            return None
        tools: list[dict[str, Any]] = self._tools[first.toolset]
        if "keys" in self._traffic.shuffle:
            tools = [self._shuffled_keys(tool) for tool in tools]
        return self._random.sample(tools, len(tools)) if "tools" in self._traffic.shuffle else tools

    def _shuffled_keys(self, tool: dict[str, Any]) -> dict[str, Any]:
        schema = tool["function"]["parameters"]
        order = self._random.sample(sorted(schema), len(schema))
        return tool | {"function": tool["function"] | {"parameters": {key: schema[key] for key in order}}}


def _append_to_last_user(history: list[Message], line: str) -> None:
    last = max(number for number, message in enumerate(history) if message.role == "user")
    history[last] = history[last].model_copy(update={"content": f"{history[last].content}\n{line}"})
