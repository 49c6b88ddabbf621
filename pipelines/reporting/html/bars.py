"""How often each error class occurs in each run, as grouped bars."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from pipelines.reporting.html.svg import element, figure, label, text_width

MOST = 14  # labels that get bars; the counts of the rest are pooled
OTHER = "other labels"
WIDTH = 350.0
BAR = 9.0
GAP = 9.0


def error_bars(name: str, title: str, counts: Mapping[str, Mapping[str, int]]) -> Markup:
    """A group per label, the most frequent over all runs first, with a bar per run in the runs' order.

    `counts` is by run, then by label. Run number n is drawn in the class `run-n`.
    """
    totals: dict[str, int] = {}
    for labels in counts.values():
        for found, count in labels.items():
            totals[found] = totals.get(found, 0) + count
    ordered = sorted(totals, key=lambda found: (-totals[found], found))
    groups = {found: [labels.get(found, 0) for labels in counts.values()] for found in ordered[:MOST]}
    if ordered[MOST:]:
        groups[OTHER] = [sum(labels.get(found, 0) for found in ordered[MOST:]) for labels in counts.values()]
    most = max((max(values) for values in groups.values()), default=1) or 1
    step = BAR * len(counts) + GAP
    side = max(map(text_width, groups), default=0.0) + 10
    body = []
    for index, (found, values) in enumerate(groups.items()):
        top = step * index
        body.append(label(side - 6, top + BAR * len(values) / 2 + 4, found, "small", "end"))
        for run, value in enumerate(values):
            width, y = max(80.0, WIDTH - side - 30) * value / most, top + BAR * run
            body += [
                element("rect", x=side, y=y, width=max(width, 1.0), height=BAR - 1.5, class_=f"run run-{run % 8}"),
                label(side + width + 4, y + BAR - 2, str(value), "tiny muted"),
            ]
    told = "; ".join(
        f"{found}: " + ", ".join(f"{value} in {run}" for run, value in zip(counts, values, strict=True))
        for found, values in groups.items()
    )
    return figure(name, (max(WIDTH, side + 110), step * len(groups)), title, told, body)
