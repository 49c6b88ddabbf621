"""A small run for the report's tests, in memory or on disk, with a chosen text in every place that takes free text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalsets.items import QaItem, Suite, ToolItem, Toolset, ToolsetFile
from evalsets.records import digest, file_sha256, write_record, write_rows
from evalsets.responses import Response
from judges.metrics import Metrics, summarise
from judges.verdicts import EngineVerdict, Error, Verdict
from pipelines.layout import Layout
from pipelines.params import AGAIN
from pipelines.profiles import Profile
from pipelines.reporting.material import Material
from quantize.manifest import Manifest, weights_digest
from registry.evidence import Comparison, EngineRecord
from registry.gate.compare import JudgedRun, compare
from registry.gate.decision import Decision
from registry.store.bundle import Bundle

BASELINE = "bf16"
VARIANTS = [BASELINE, "awq-int4", "fp8"]
RUNS = [*VARIANTS, AGAIN]
SUITES: tuple[Suite, ...] = ("qa", "tools")
LABELS: dict[Suite, list[str]] = {
    "qa": ["answer_wrong", "truncated"],
    "tools": ["value_wrong", "float_drift", "json_syntax.trailing_comma", "no_call"],
}
FILE = {"f.bin": digest("file")}
SOME = digest("anything")

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
    engines = {run: _engine(run, text) for run in RUNS}
    comparisons = {run: _compared(run, judged, engines, items, text) for run in RUNS if run != BASELINE}
    return Material(
        profile=profile(),
        bundle=Bundle(
            decision=decision(text=text),
            comparisons=comparisons,
            engines=engines,
            manifests={variant: _manifest(variant, text) for variant in VARIANTS},
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
    for variant, manifest in made.bundle.manifests.items():
        write_record(layout.manifest(variant), manifest)
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


def profile(**changes: Any) -> Profile:
    """A profile with both suites, a stand-in model and one subset; `changes` replace whole sections."""
    sampling = dict.fromkeys(["temperature", "min_p", "presence_penalty", "frequency_penalty"], 0.0)
    engine = dict.fromkeys(["max_model_len", "max_num_batched_tokens"], 2048)
    gate = {"test": "noninferiority", "suite": "tools", "margin_pp": 16.0}
    settings: dict[str, Any] = {
        "profile": "demo",
        "model": {
            "source": "folder",
            "name": "little-model",
            "path": "model",
            "repo": "somewhere",
            "revision": "1",
            "licence": "Apache-2.0",
            "stand_in": True,
        },
        "calibration": {"file": "c.jsonl", "samples": 1, "max_tokens": 16, "seed": 1},
        "variants": {variant: {"recipe": f"{variant}.yaml"} for variant in VARIANTS},
        "suites": {"qa": {"path": "qa.jsonl"}, "tools": {"path": "tools.jsonl"}},
        "toolsets": "toolsets.json",
        "engine": engine
        | {"mode": "launch", "command": ["serve"], "device": "cpu", "dtype": "bfloat16", "max_num_seqs": 1}
        | {"prefix_caching": True, "dialect": "bare", "concurrency": 1}
        | {"start_timeout_s": 10, "request_timeout_s": 10},
        "sampling": sampling
        | {"top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "seed": 1, "max_tokens": {"qa": 64, "tools": 256}},
        "runs": {run: {"variant": BASELINE if run == AGAIN else run, "order_seed": 1 + (run == AGAIN)} for run in RUNS},
        "compared": [run for run in RUNS if run != BASELINE],
        "policy": {
            "baseline": BASELINE,
            "scenes": {"tools": {"traffic_share": 1.0, "candidates": ["awq-int4", "fp8", BASELINE], "gates": [gate]}},
        },
        "registry": {"tracking_uri": "sqlite:///mlflow.db"},
    }
    return Profile.model_validate(settings | changes)


def decision(
    exit_code: int = 0,
    require: str = "none",
    outcomes: Mapping[str, str] | None = None,
    text: str = "plain",
    broken: tuple[str, ...] = (),
) -> Decision:
    """Scene `tools`: awq-int4 FAILs and fp8 PASSes, unless `outcomes` says otherwise; `text` ends every reason."""
    wanted = {"awq-int4": "FAIL", "fp8": "PASS", BASELINE: "PASS"} | dict(outcomes or {})
    candidates = [
        {
            "candidate": candidate,
            "outcome": outcome,
            "reason": f"{candidate} on tools: {outcome}, {text}",
            "gates": [] if candidate == BASELINE else _gates(candidate, outcome, text),
        }
        for candidate, outcome in wanted.items()
    ]
    chosen = next(candidate for candidate, outcome in wanted.items() if outcome == "PASS")
    scene = {"scene": "tools", "chosen": chosen, "reason": f"{chosen} {text}", "require": require}
    return Decision.model_validate(
        {
            "profile": "demo",
            "baseline": BASELINE,
            "scenes": [scene | {"candidates": candidates}],
            "broken": list(broken),
            "exit_code": exit_code,
            "policy_sha256": SOME,
            "weights": dict.fromkeys(VARIANTS, weights_digest(FILE)),
            "executions": {variant: _engine(variant, text).execution for variant in VARIANTS},
            "inputs": {f"engine/{BASELINE}.json": SOME},
        }
    )


def _gates(candidate: str, outcome: str, text: str) -> list[dict[str, Any]]:
    numbers = {"n": 48, "losses": 5, "gains": 2, "drop_pp": 6.25, "lower_pp": -14.625, "upper_pp": 2.031}
    table = {"test": "noninferiority", "suite": "tools", "verdict": "strict", "margin_pp": 16.0}
    reason = f"{candidate} on tools: {outcome}, {text}"
    must_pass = "PASS" if outcome == "PASS" else "FAIL"
    return [
        table | numbers | {"outcome": outcome, "reason": reason, "losses_that_pass": 6, "losses_that_fail": 15},
        {
            "test": "must_pass",
            "suite": "tools",
            "outcome": must_pass,
            "reason": f"must-pass items: {text}",
            "losses": 1,
        },
    ]


def qa_item(number: int, text: str) -> QaItem:
    return QaItem.model_validate(
        {
            "id": f"qa-{number:03}",
            "domain": "service",
            "cluster": "c",
            "split": "release",
            "lang": "zh",
            "messages": [{"role": "user", "content": "first"}, {"role": "user", "content": f"问题 {text}"}],
            "answers": ["42", encodable(text)],
            "match": {"kind": "exact", "normalisers": ["strip"]},
        }
    )


def tool_item(number: int, text: str) -> ToolItem:
    arguments = {"amount": {"any_of": [12900]}, "note": {"any_of": [encodable(text)]}}
    return ToolItem.model_validate(
        {
            "id": f"tc-{number:03}",
            "domain": "tools",
            "cluster": "refunds",
            "split": "release",
            "lang": "en",
            "must_pass": number == 0,
            "toolset": "refunds",
            "messages": [{"role": "user", "content": f"Refund {text}"}],
            "expect": "call",
            "calls": [{"name": "refund", "args": arguments}],
        }
    )


def encodable(text: str) -> str:
    """`text` without lone surrogates: a suite file is UTF-8 and holds none."""
    return text.encode(errors="replace").decode()


def toolset() -> Toolset:
    function = {"name": "refund", "description": "Refund.", "parameters": {"type": "object"}}
    return Toolset.model_validate({"name": "refunds", "tools": [{"function": function}]})


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
    wanted = {suite: {item_id: item.must_pass for item_id, item in asked.items()} for suite, asked in items.items()}
    return compare(baseline, candidate, wanted, {}).model_copy(update={"mismatches": [text] if text != "plain" else []})


def _engine(run: str, text: str) -> EngineRecord:
    variant = BASELINE if run == AGAIN else run
    numerics = {"device": "cpu", "compute_capability": "avx2", "engine": "vllm", "engine_version": "0.32.0"}
    numerics |= {"dtype": "bfloat16"}
    bits = {BASELINE: 16, "awq-int4": 4, "fp8": 8}[variant]
    suite = {"file_sha256": SOME, "items": 6, "ids_sha256": SOME}
    digests = [f"{name}_sha256" for name in ("toolsets", "template", "prompts", "sampling")]
    limits = dict.fromkeys(["max_model_len", "max_num_seqs", "max_num_batched_tokens"], 16)
    shared = numerics | dict.fromkeys(digests, SOME) | limits
    return EngineRecord.model_validate(
        {
            "profile": "demo",
            "run": run,
            "variant": variant,
            "weights_digest": weights_digest(FILE),
            "served_digest": weights_digest(FILE),
            "served_name": text,
            "mode": "launch",
            "execution": numerics
            | {"linear_kernel": f"kernel {text}", "weight_bits": bits, "activation_bits": 16, "note": text},
            "shared": shared
            | {"suites": {"qa": suite, "tools": suite}, "attention_backend": "default", "prefix_caching": True},
            "tool_parser": "hermes",
            "dialect": text,
            "order_seed": 1 + (run == AGAIN),
            "generation_key": SOME,
            "argv": ["serve", "--model", text],
            "environment": {"NAME": text},
            "kernel_lines": [text],
            "cache_config": {"block_size": text},
            "responses": {},
            "hardware": {"processor": f"chip {text}", "cores": 2, "memory_bytes": 25_276_502_016, "accelerator": None},
            "wall_s": {"start": 31.6, "qa": 23.0},
        }
    )


def _manifest(variant: str, text: str) -> Manifest:
    return Manifest.model_validate(
        {
            "variant": variant,
            "backend": text,
            "base_repo": text,
            "base_revision": text,
            "base_digest": SOME,
            "recipe": text,
            "recipe_sha256": SOME,
            "calibration_sha256": None if variant == BASELINE else SOME,
            "weight_bits": 4,
            "activation_bits": 16,
            "scheme": f"scheme {text}",
            "versions": {"tool": text},
            "device": f"cpu {text}",
            "warnings": [text],
            "skipped_mappings": 0,
            "awq_error": {},
            "files": FILE,
            "weights_digest": weights_digest(FILE),
            "weight_bytes": 988_097_536,
            "wall_s": 12.5,
        }
    )


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
