"""A Grafana dashboard of a scene: what is released beside its fallback, eight panels. Pure."""

from __future__ import annotations

import json
from typing import Any

from evalsets.records import digest
from registry.release.engine_metrics import counted, gauge, quantile, ratio, series
from registry.release.release import Release

WINDOW = "$__rate_interval"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS, WIDTH, HEIGHT = 2, 12, 8
Query = tuple[str, str]  # (what is shown, PromQL)


def dashboard_json(release: Release) -> str:
    """The dashboard, to be imported or provisioned. Its data source is chosen in Grafana; its uid is the scene's."""
    names = {served.variant: served.served_name for served in release.all_served}
    panels = [
        _panel(number, title, unit, [(f"{variant} {what}".strip(), query) for variant, what, query in queries])
        for number, (title, unit, queries) in enumerate(_panels(names))
    ]
    dashboard = {
        "uid": digest(["release", release.evidence.profile, release.scene])[:16],
        "title": f"Release {release.scene} ({release.evidence.profile})",
        "tags": ["vllm", "release", release.scene],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": panels,
    }
    return json.dumps(dashboard, ensure_ascii=False, indent=2) + "\n"


def _panels(names: dict[str, str]) -> list[tuple[str, str, list[tuple[str, str, str]]]]:
    """(title, unit, [(variant, what, query)]) per panel."""
    each = list(names.items())

    def prefix_hits(name: str) -> str:
        return ratio(series("vllm:prefix_cache_hits", name), series("vllm:prefix_cache_queries", name), WINDOW)

    def late(metric: str, q: float) -> list[tuple[str, str, str]]:
        return [(variant, f"p{q * 100:g}", quantile(metric, name, q, WINDOW)) for variant, name in each]

    queues = [
        (variant, what, gauge(f"vllm:num_requests_{what}", name, "sum"))
        for variant, name in each
        for what in ("running", "waiting")
    ]
    tokens = [
        (variant, what, counted(f"vllm:{what}_tokens", name, WINDOW))
        for variant, name in each
        for what in ("prompt", "generation")
    ]
    first_token, between = "vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds"
    ends = [
        (variant, reason, counted("vllm:request_success", name, WINDOW, finished_reason=reason))
        for variant, name in each
        for reason in ("stop", "length|repetition", "error|abort")
    ]
    preempted = [(variant, "", counted("vllm:num_preemptions", name, WINDOW)) for variant, name in each]
    return [
        ("Requests", "short", queues),
        ("Time to first token", "s", [*late(first_token, 0.5), *late(first_token, 0.95)]),
        ("Time between tokens", "s", late(between, 0.95)),
        ("Tokens per second", "short", tokens),
        (
            "KV cache in use",
            "percentunit",
            [(variant, "", gauge("vllm:kv_cache_usage_perc", name, "max")) for variant, name in each],
        ),
        (
            "Prompt tokens from the prefix cache",
            "percentunit",
            [(variant, "", prefix_hits(name)) for variant, name in each],
        ),
        ("Preemptions per second", "short", preempted),
        ("Ends of requests per second", "reqps", ends),
    ]


def _panel(number: int, title: str, unit: str, queries: list[Query]) -> dict[str, Any]:
    row, column = divmod(number, COLUMNS)
    return {
        "id": number + 1,
        "title": title,
        "type": "timeseries",
        "datasource": SOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": column * WIDTH, "y": row * HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": query, "legendFormat": legend}
            for index, (legend, query) in enumerate(queries)
        ],
    }
