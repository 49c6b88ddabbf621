"""The calls and findings of one completion, gathered payload by payload."""

from __future__ import annotations

from dataclasses import dataclass, field

from evalsets.records import Json
from judges.call_shape import Call, Reading, Tools, calls_of
from judges.findings import Finding, Span
from judges.payload import Payload


@dataclass(slots=True)
class Collector:
    """What was read so far. `natural`: the model is known to have ended by itself."""

    tools: Tools
    natural: bool
    calls: list[Call] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def note(self, kind: str, span: Span, recovery: str = "", got: str | None = None) -> None:
        """Record a finding about the wrapping."""
        self.findings.append(Finding(kind, got=got, span=span, recovery=recovery))

    def add_value(self, value: Json, span: Span) -> bool:
        """Take the calls in one value; whether each of them names a declared tool and can be read."""
        calls, findings = calls_of(value, span, self.tools, len(self.calls))
        self.calls += calls
        self.findings += findings
        return all(call.name in self.tools and call.arguments is not None for call in calls)

    def add_payload(self, payload: Payload, span: Span) -> bool:
        """Take the calls in a payload, or one call that could not be read; whether all are whole and declared."""
        self.findings += payload.findings
        if not payload.readable:
            self.unreadable(span)
            return False
        added = [self.add_value(value, place) for value, place in payload.values]
        return all(added)

    def unreadable(self, span: Span) -> None:
        """Take one call of which nothing can be said."""
        self.calls.append(Call(None, None, span))

    def reading(self, attempt: bool = True, example: bool = False) -> Reading:
        """What was read, as a whole."""
        return Reading(tuple(self.calls), tuple(self.findings), attempt, example)
