"""What the commands print: Markdown tables, each number's origin in its heading. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pipelines.serving.lint_cost import Cost
from pipelines.serving.log_queries import LONG_TOKENS, Averages
from pipelines.serving.prompt_lint import Finding
from pipelines.serving.summary import LAST_TURN, Summary

SHOWN_TENANTS = 5


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def averages_table(averages: Iterable[Averages]) -> str:
    """Average tokens per request, all requests first."""
    head = ["scene", "requests", "sessions", "later turns", "system", "of it shared", "input", "output"]
    head += [f"share above {LONG_TOKENS:,} shared", "shared / input"]
    rows = (
        [
            one.scene,
            f"{one.requests:,}",
            f"{one.sessions:,}",
            f"{one.later_turn_rate:.1%}",
            *(f"{value:,.0f}" for value in (one.system_tokens, one.shared_tokens, one.input_tokens, one.output_tokens)),
            f"{one.long_shared_rate:.1%}",
            f"{one.shared_tokens / one.input_tokens:.1%}",
        ]
        for one in averages
    )
    return table(head, rows)


def policies_table(by_policy: Mapping[str, Summary]) -> str:
    """Routing policies side by side."""
    turns = [f"turn {turn}" for turn in range(1, LAST_TURN)] + [f"turn {LAST_TURN}+"]
    head = [
        "policy (simulated)",
        "token hit rate",
        "request hit rate",
        *turns,
        "computed tok/s",
        "hot spot",
        "waited p95 s",
    ]
    rows = (
        [
            name,
            f"{one.token_hit_rate:.3f}",
            f"{one.request_hit_rate:.3f}",
            *(f"{one.by_turn[turn]:.3f}" if turn in one.by_turn else "" for turn in range(1, LAST_TURN + 1)),
            f"{one.computed_tok_s:,.0f}",
            f"{one.hot_spot:.2f}",
            f"{one.waited_p95_s:.1f}",
        ]
        for name, one in by_policy.items()
    )
    return table(head, rows)


def tenants_table(by_policy: Mapping[str, Summary]) -> str:
    """Token hit rates of the tenants with most requests, and of the rest of them: the plain mean over tenants."""
    first = next(iter(by_policy.values())).by_tenant
    largest = list(first)[:SHOWN_TENANTS]
    rest = list(first)[SHOWN_TENANTS:]
    head = ["token hit rate (simulated)", *largest, *([f"mean of {len(rest)} others"] if rest else [])]
    rows = []
    for name, one in by_policy.items():
        others = [sum(one.by_tenant[tenant] for tenant in rest) / len(rest)] if rest else []
        rows.append([name, *(f"{value:.3f}" for value in [*(one.by_tenant[tenant] for tenant in largest), *others])])
    return table(head, rows)


def findings_table(findings: Iterable[Finding]) -> str:
    """Faults without their cost."""
    head = ["fault", "where", "requests", "example"]
    return table(head, ([one.kind, one.part, f"{one.requests:,}", _cell(one.example)] for one in findings))


def costs_table(clean: Summary, costs: Iterable[Cost]) -> str:
    """Faults with what each costs on its own, and the log without any."""
    head = ["fault", "where", "requests", "token hit rate with it alone (simulated)", "recomputed tok/s (simulated)"]
    rows = [
        [
            one.finding.kind,
            one.finding.part,
            f"{one.finding.requests:,}",
            "" if one.hit_rate is None else f"{one.hit_rate:.3f}",
            "not known" if one.recomputed_tok_s is None else f"{one.recomputed_tok_s:,.0f}",
        ]
        for one in costs
    ]
    return table(head, [*rows, ["none", "", "", f"{clean.token_hit_rate:.3f}", "0"]])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
