"""Routing policies side by side, as a figure of its own: token hit rate and hot spot. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.reporting.html.svg import element, figure, label, scale
from pipelines.serving.summary import Summary

ROW, LEFT, WIDTH, GAP = 34.0, 130.0, 230.0, 70.0
STYLE = """
text { font: 13px sans-serif; fill: #222 } rect.hits { fill: #2f6f9f } rect.load { fill: #c9822b }
@media (prefers-color-scheme: dark) { text { fill: #ddd } }
"""


def routing_plot(by_policy: Mapping[str, Summary]) -> str:
    """The SVG text: two bars for each policy, in the order given. The left scale ends at 1."""
    second = LEFT + WIDTH + GAP
    hits = scale((0, 1), (0, WIDTH))
    loads = scale((0, max(summary.hot_spot for summary in by_policy.values())), (0, WIDTH))
    body = [element("style", text=STYLE)]
    body += [label(LEFT, 20, "token hit rate (simulated)", "head")]
    body += [label(second, 20, "busiest replica / average (simulated)", "head")]
    for row, (name, summary) in enumerate(by_policy.items()):
        top = 34 + row * ROW
        body.append(label(LEFT - 10, top + 15, name, "name", "end"))
        for left, width, value, kind in (
            (LEFT, hits(summary.token_hit_rate), f"{summary.token_hit_rate:.3f}", "hits"),
            (second, loads(summary.hot_spot), f"{summary.hot_spot:.2f}", "load"),
        ):
            body.append(element("rect", x=left, y=top, width=width, height=20, class_=kind))
            body.append(label(left + width + 6, top + 15, value, "value"))
    size = (second + WIDTH + GAP, 44 + ROW * len(by_policy))
    names = "; ".join(
        f"{name}: hit rate {summary.token_hit_rate:.3f}, hot spot {summary.hot_spot:.2f}"
        for name, summary in by_policy.items()
    )
    drawn = str(figure("routing", size, "Routing policies on one replay", names, body))
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"
