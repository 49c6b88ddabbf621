"""Accuracy by category: descriptive, never a gate, since a part of a suite decides less than the whole."""

from __future__ import annotations

from collections.abc import Mapping

from judges.metrics import Slice, SuiteMetrics
from pipelines.reporting.material import Material
from pipelines.reporting.text import inline, joined, percent, table

LEAST, MOST = 0.15, 0.90  # of the baseline's answers right; outside, a category hardly tells variants apart
ROWS = 40  # a suite's smallest tags beyond are left out


def slices(material: Material) -> str:
    """For each suite a table of domains and tags: strictly right answers of every run, the baseline's first."""
    baseline = material.decision.baseline
    runs = [baseline, *(run for run in material.metrics if run != baseline)]
    parts = []
    for suite in material.metrics[baseline].suites:
        found = categories({run: material.metrics[run].suites[suite] for run in runs}, baseline)
        rows = [[inline(name), *cells] for name, *cells in found]
        parts.append(joined(f"### {suite}", table(["category", "items", *map(inline, runs), ""], rows)))
    return joined(
        "## Accuracy by category",
        "Strictly right of the judged answers. An item has several tags. *Too hard* and *too easy* are categories of "
        f"which the baseline has less than {LEAST:.0%} or more than {MOST:.0%} right: they hardly tell variants apart.",
        *parts,
    )


def difficulty(found: Slice) -> str:
    """`too hard`, `too easy` or nothing, by the share of judged answers that are strictly right."""
    if not found.judged or LEAST <= found.strict_ok / found.judged <= MOST:
        return ""
    return "too hard" if found.strict_ok / found.judged < LEAST else "too easy"


def categories(found: Mapping[str, SuiteMetrics], baseline: str) -> list[list[str]]:
    """A row per domain and tag: name, items, what each run has right, and `difficulty` by the baseline's answers."""
    own = found[baseline]
    tags = sorted(own.tags, key=lambda tag: (-own.tags[tag].n, tag))[:ROWS]
    rows = []
    for kind, names in (("domains", sorted(own.domains)), ("tags", tags)):
        for name in names:
            parts = [getattr(metrics, kind)[name] for metrics in found.values()]
            cells = [percent(part.strict_ok, part.judged) for part in parts]
            rows.append([name, str(parts[0].n), *cells, difficulty(parts[0])])
    return rows
