"""Whether a cell kept its budget, and what of it not, in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from registry.load_profile import Budget, Latency


@dataclass(frozen=True)
class Outcome:
    """What is held against a budget: requests, those that failed, preemptions, and the tail of those that did not."""

    requests: int
    failed: int
    preemptions: int
    tail: Latency | None


def broken(outcome: Outcome, budget: Budget) -> list[str]:
    """Every part of the budget that was not kept, in words with both numbers; empty where all was."""
    lines = []
    if outcome.tail is None:
        lines.append("no request was answered")
    else:
        name = f"p{100 * outcome.tail.quantile:.0f}"
        times = [("TTFT", outcome.tail.ttft_ms, budget.ttft_ms), ("ITL", outcome.tail.itl_ms, budget.itl_ms)]
        for what, found, most in times:
            if found.estimate > most:
                lines.append(f"{what} {name} {found.estimate:.6g} ms, budget {most:.6g}")
    if outcome.failed / outcome.requests > budget.errors:
        counts = f"{outcome.failed} of {outcome.requests} requests"
        share, most = 100 * outcome.failed / outcome.requests, 100 * budget.errors
        lines.append(f"errors {counts} ({share:.6g} %), budget {most:.6g} %")
    if outcome.preemptions > budget.preemptions:
        lines.append(f"preemptions {outcome.preemptions}, budget {budget.preemptions}")
    return lines
