"""What spoils cached prefixes in a log: text that changes from request to request before the last user turn.

A span counts as volatile when the same text comes with two different values of it for one tenant: opening hours in a
system text are no fault, the time of day is one.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any, Literal

from pipelines.serving.canonical import keys_sorted, tools_sorted
from pipelines.serving.request_log import LoggedRequest
from pipelines.serving.volatile import VolatileKind, masked, spans

Kind = Literal[VolatileKind, "unsorted_tools", "unstable_keys", "rewritten_turn"]
Part = Literal["system text", "tools", "earlier turns"]
REMEMBERED = 50_000  # texts and sessions
EXAMPLE = 120  # characters


@dataclass(frozen=True)
class Finding:
    """One fault: its kind, the part of the prompt, how many requests have it, and an example."""

    kind: Kind
    part: Part
    requests: int
    example: str


@dataclass
class _Text:
    """A text of one tenant, whatever its spans say: what they said first, and which have said something else since."""

    part: Part
    first: list[tuple[VolatileKind, str]]
    requests: int = 0
    varying: dict[VolatileKind, str] = field(default_factory=dict)


class PromptLint:
    """Give it a log's requests, then ask for the findings."""

    def __init__(self) -> None:
        self._texts: dict[str, _Text] = {}
        self._known: OrderedDict[str, _Text] = OrderedDict()
        self._spellings: dict[str, str] = {}
        self._turns: OrderedDict[str, list[str]] = OrderedDict()
        self._examples: dict[tuple[Kind, Part], str] = {}
        self._counts: Counter[tuple[Kind, Part]] = Counter()

    def add(self, request: LoggedRequest, tools: list[dict[str, Any]] | None) -> None:
        """Look at one request, `tools` in full; those of a session in the order in which they came."""
        chat = request.chat()
        system = "\n".join(message.get("content") or "" for message in chat if message["role"] == "system")
        self._scan(request.tenant, "system text", system)
        if tools:
            self._scan(request.tenant, "tools", json.dumps(keys_sorted(tools_sorted(tools)), ensure_ascii=False))
            self._check_tools(tools)
        self._compare_turns(request, [message for message in chat if message["role"] != "system"])

    def findings(self) -> list[Finding]:
        """What is wrong, most requests first; one entry for each kind and part."""
        counts, examples = self._counts.copy(), dict(self._examples)
        for text in self._texts.values():
            for kind, example in text.varying.items():
                counts[kind, text.part] += text.requests
                examples.setdefault((kind, text.part), example)
        found = [Finding(kind, part, count, examples[kind, part]) for (kind, part), count in counts.items()]
        return sorted(found, key=lambda finding: (-finding.requests, finding.kind, finding.part))

    def _scan(self, tenant: str, part: Part, text: str) -> None:
        exact = _digest(tenant, part, text)
        if exact not in self._known:
            now = spans(text)
            known = self._texts.setdefault(_digest(tenant, part, masked(text)), _Text(part, now))
            for (kind, value), (_, first) in zip(now, known.first, strict=True):
                if value != first:
                    known.varying.setdefault(kind, value)
            _keep(self._known, exact, known)
        self._known[exact].requests += 1

    def _check_tools(self, tools: list[dict[str, Any]]) -> None:
        if tools_sorted(tools) != tools:
            self._note("unsorted_tools", "tools", ", ".join(str(tool["function"]["name"]) for tool in tools))
        for tool in tools:
            text = json.dumps(tool, ensure_ascii=False)
            if self._spellings.setdefault(_digest(json.dumps(keys_sorted(tool))), text) != text:
                self._note("unstable_keys", "tools", text)
                break

    def _compare_turns(self, request: LoggedRequest, chat: list[dict[str, Any]]) -> None:
        turns = [_digest(json.dumps(message)) for message in chat]
        earlier = self._turns.get(request.session, [])
        for number, (now, before) in enumerate(zip(turns, earlier, strict=False)):
            if now != before:
                self._note("rewritten_turn", "earlier turns", str(chat[number].get("content")))
                break
        _keep(self._turns, request.session, turns)

    def _note(self, kind: Kind, part: Part, example: str) -> None:
        self._counts[kind, part] += 1
        self._examples.setdefault((kind, part), example[:EXAMPLE])


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _keep(kept: OrderedDict[str, Any], key: str, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)
