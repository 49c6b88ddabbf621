"""The job summary: what was recomputed, what a person must look at, and the report. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipelines.ci.outcome import Outcome, exit_code, meaning
from registry.store.markup import markdown

# A job summary holds 1 MiB and is dropped whole when it is longer.
MAX_BYTES = 1_000_000
CUT = "\n\n(Cut here; the files of the artifact are whole.)\n"


def page(outcomes: Sequence[Outcome], problems: Sequence[str], changed: Mapping[str, str]) -> str:
    """The summary: Markdown of at most `MAX_BYTES` bytes of UTF-8. `changed` maps trusted paths to what they settle."""
    code = exit_code(outcomes, problems)
    parts = [f"# Release gate: exit code {code}, {meaning(code)}"]
    if problems:
        parts.append("\n".join(["Not usable:", "", *(f"- {markdown(line)}" for line in problems)]))
    if changed:
        parts.append(_review(changed))
    for outcome in outcomes:
        title = f"## {markdown(outcome.profile)}: exit code {outcome.code}, {meaning(outcome.code)}"
        parts += [title, "Recomputed from the stored answers, by the base branch's code, policy and suites:"]
        parts.append(_fenced(outcome.said))
    for outcome in outcomes:
        if outcome.report_differs:
            name = markdown(f"evidence/{outcome.profile}/report.md")
            parts.append(f"**{name} is not the report below**, which the base branch's code made of the same evidence.")
        if outcome.report:
            parts.append(outcome.report)
    return _within("\n\n".join(parts) + "\n", MAX_BYTES)


def _review(changed: Mapping[str, str]) -> str:
    lines = [
        "## A person has to review this",
        "",
        "The pull request changes files that this check rests on. All that stands here was recomputed with the base "
        "branch's version of them, and says nothing about the new one:",
        "",
    ]
    return "\n".join(lines + [f"- {markdown(path)}: {part}" for path, part in changed.items()])


def _fenced(text: str) -> str:
    """`text` as a block that it cannot end itself."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(4, longest + 1)
    return f"{fence}text\n{text.strip()}\n{fence}"


def _within(text: str, limit: int) -> str:
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[: limit - len(CUT.encode())].decode(errors="ignore") + CUT
