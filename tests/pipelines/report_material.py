"""A small run for the report's tests, in memory or on disk, with a chosen text in every place that takes free text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalsets.items import QaItem, Suite, ToolItem, ToolsetFile
from evalsets.records import digest, file_sha256, write_record, write_rows
from evalsets.responses import Response
from judges.metrics import Metrics, summarise
from judges.verdicts import EngineVerdict, Error, Verdict
from pipelines.layout import Layout
from pipelines.params import AGAIN
from pipelines.profiles import Profile
from pipelines.reporting.material import Material
from registry.evidence import Comparison, EngineRecord
from registry.gate.compare import Asked, compare
from registry.gate.decision import Decision
from registry.gate.pairing import JudgedRun
from registry.store.bundle import Bundle
from tests.pipelines.report_records import decision, engine, manifest
from tests.pipelines.report_settings import BASELINE, RUNS, VARIANTS, profile, qa_item, tool_item, toolset

SUITES: tuple[Suite, ...] = ("qa", "tools")
LABELS: dict[Suite, list[str]] = {
    "qa": ["answer_wrong", "truncated"],
    "tools": ["value_wrong", "float_drift", "json_syntax.trailing_comma", "no_call"],
}

Items = dict[Suite, dict[str, QaItem | ToolItem]]
Answers = dict[str, dict[Suite, dict[str, Response]]]


def material(text: str = "plain", count: int = 6, losses: int = 3, label: str | None = None) -> Material:
    """`count` items a suite, of which each candidate loses the first `losses` and gains the last.

    `text` stands wherever a model, a suite or a machine may write freely; `label` replaces the labels of the losses.
    The first item of `tools` is must-pass, and its label comes late in the order of precedence.
    """
    items: Items = {"qa": _by_id([qa_item(n, text) for n in range(count)])}
    items["tools"] = _by_id([tool_item(n, text) for n in range(count)])
    judged = {run: {suite: _verdicts(run, suite, items, losses, text, label) for suite in SUITES} for run in RUNS}
    engines = {run: engine(run, text) for run in RUNS}
    comparisons = {run: _compared(run, judged, engines, items, text) for run in RUNS if run != BASELINE}
    return Material(
        profile=profile(),
        bundle=Bundle(
            decision=decision(text=text),
            comparisons=comparisons,
            engines=engines,
            manifests={variant: manifest(variant, text) for variant in VARIANTS},
            metrics={run: _metrics(run, items, losses, text) for run in RUNS},
            judge_version="1",
            artifacts={},
        ),
        items=items,
        toolsets={"refunds": toolset()},
        verdicts=judged,
        responses=answers(items, text),
    )


def answers(items: Mapping[Suite, Mapping[str, QaItem | ToolItem]], text: str) -> Answers:
    """The raw answers of every run: `text` and then `right`, or `wrong in <run>` for a candidate."""
    return {run: {suite: _responses(run, suite, list(items[suite]), text) for suite in SUITES} for run in RUNS}


def write(made: Material) -> Profile:
    """Put the run below the current folder, with digests that fit together; returns the profile to report on."""
    profile_, layout = made.profile, Layout.of(made.profile.profile)
    write_rows(Path(profile_.suites["qa"].path), made.items["qa"].values())
    write_rows(Path(profile_.suites["tools"].path), made.items["tools"].values())
    write_record(Path(profile_.toolsets), ToolsetFile(toolsets=list(made.toolsets.values())))
    for run in RUNS:
        for suite in SUITES:
            write_rows(layout.responses(run, suite), made.responses[run][suite].values())
            write_rows(layout.verdicts(run, suite), made.verdicts[run][suite].values())
        write_record(layout.metrics(run), made.bundle.metrics[run])
        write_record(layout.engine(run), _on_disk(made, run))
    for variant, made_from in made.bundle.manifests.items():
        write_record(layout.manifest(variant), made_from)
    files = [layout.engine(run) for run in RUNS] + [layout.manifest(variant) for variant in VARIANTS]
    for run, comparison in made.bundle.comparisons.items():
        read = [layout.engine(name) for name in (BASELINE, run)]
        read += [layout.verdicts(name, suite) for name in (BASELINE, run) for suite in SUITES]
        write_record(layout.comparison(run), comparison.model_copy(update={"inputs": _digests(layout, read)}))
        files.append(layout.comparison(run))
    decided = {"inputs": _digests(layout, files), "policy_sha256": digest(profile_.policy)}
    write_record(layout.decision, made.decision.model_copy(update=decided))
    return profile_


def with_decision(made: Material, changed: Decision) -> Material:
    return replace(made, bundle=replace(made.bundle, decision=changed))


def _by_id(items: list[Any]) -> dict[str, Any]:
    return {item.id: item for item in items}


def _verdicts(run: str, suite: Suite, items: Items, losses: int, text: str, label: str | None) -> dict[str, Verdict]:
    found = {}
    for index, item_id in enumerate(items[suite]):
        lost = run not in {BASELINE, AGAIN} and index < losses
        wrong = lost or (run in {BASELINE, AGAIN} and index == len(items[suite]) - 1)
        name = (label or LABELS[suite][index % len(LABELS[suite])]) if lost else LABELS[suite][0]
        tolerated = lost and index == 1
        found[item_id] = Verdict(
            item_id=item_id,
            suite=suite,
            status="judged",
            strict_ok=not wrong,
            tolerant_ok=not wrong or tolerated,
            primary=name if wrong else None,
            errors=[Error(kind=name, path="/0/arguments/amount", expected=text, got=text)] if wrong else [],
            recoveries=[f"recovered {text}"] if tolerated else [],
            engine=EngineVerdict(status="judged", ok=not wrong)
            if suite == "tools"
            else EngineVerdict(status="not_applicable"),
            completion_tokens=10 + (run == "fp8"),
            raw_sha256=digest([run if lost else BASELINE, item_id]),
        )
    return found


def _metrics(run: str, items: Items, losses: int, text: str) -> Metrics:
    verdicts = [verdict for suite in SUITES for verdict in _verdicts(run, suite, items, losses, text, None).values()]
    return summarise(verdicts, items["qa"] | items["tools"])


def _responses(run: str, suite: Suite, ids: list[str], text: str) -> dict[str, Response]:
    seen = {BASELINE: f"{text} right", AGAIN: f"{text} right"}.get(run, f"{text} wrong in {run}")
    return {item_id: Response(item_id=item_id, suite=suite, status="ok", raw=seen) for item_id in ids}


def _compared(
    run: str,
    judged: Mapping[str, Mapping[Suite, Mapping[str, Verdict]]],
    engines: Mapping[str, EngineRecord],
    items: Items,
    text: str,
) -> Comparison:
    baseline, candidate = (
        JudgedRun(name, {suite: list(rows.values()) for suite, rows in judged[name].items()}, engines[name])
        for name in (BASELINE, run)
    )
    wanted = {suite: Asked.of(list(asked.values())) for suite, asked in items.items()}
    return compare(baseline, candidate, wanted, {}).model_copy(update={"mismatches": [text] if text != "plain" else []})


def _on_disk(made: Material, run: str) -> EngineRecord:
    engine, layout = made.bundle.engines[run], Layout.of(made.profile.profile)
    suites = {
        suite: asked.model_copy(update={"file_sha256": file_sha256(Path(made.profile.suites[suite].path))})
        for suite, asked in engine.shared.suites.items()
    }
    responses = {suite: file_sha256(layout.responses(run, suite)) for suite in SUITES}
    shared = engine.shared.model_copy(update={"suites": suites})
    return engine.model_copy(update={"shared": shared, "responses": responses})


def _digests(layout: Layout, files: list[Path]) -> dict[str, str]:
    return {path.relative_to(layout.root).as_posix(): file_sha256(path) for path in files}
