"""Small evidence for the gate's tests: verdicts, engine records, comparisons and policies with chosen counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsets.items import Suite
from judges.verdicts import Verdict
from registry.evidence import Attempt, Comparison, EngineRecord, PairedTable
from registry.gate.compare import Asked, compare
from registry.gate.decide import Evidence, decide
from registry.gate.decision import Decision, GateResult
from registry.gate.pairing import JudgedRun
from registry.gate.policy import Policy

PROFILE = "demo"
DEFAULT_LABEL = "wrong_tool"
SHA = {name: f"{index:064x}" for index, name in enumerate(["bf16", "fp8", "awq-int4", "other", "suite"], 1)}
PASSING, INCONCLUSIVE, FAILING = 0, 5, 60  # losses of 180 at 4 pp
MUST_PASS = {"test": "must_pass", "suite": "tools"}


def table(losses: int, gains: int, n: int) -> PairedTable:
    """A paired table whose other items are right on both sides."""
    return PairedTable(n=n, both_right=n - losses - gains, losses=losses, gains=gains, both_wrong=0)


def ids(suite: Suite, n: int) -> list[str]:
    return [f"{suite}-{index:04d}" for index in range(n)]


def verdict(item_id: str, suite: Suite, label: str | None, raw: str) -> Verdict:
    """A judged verdict: right without a label, else wrong with it. `raw` stands for the answer's text."""
    ok = label is None
    return Verdict(
        item_id=item_id,
        suite=suite,
        status="judged",
        strict_ok=ok,
        tolerant_ok=ok,
        primary=label,
        completion_tokens=10,
        raw_sha256=f"{raw:0>64}",
    )


def unjudged(item_id: str, suite: Suite) -> Verdict:
    return Verdict(item_id=item_id, suite=suite, status="unjudged", primary="infra")


def baseline_verdicts(suite: Suite, n: int) -> list[Verdict]:
    """The baseline's answers: the last fifth is wrong."""
    wrong = n - n // 5
    return [
        verdict(item_id, suite, DEFAULT_LABEL if index >= wrong else None, str(index))
        for index, item_id in enumerate(ids(suite, n))
    ]


def candidate_verdicts(
    suite: Suite,
    n: int,
    losses: int = 0,
    gains: int = 0,
    labels: Sequence[str] = (),
    not_judged: int = 0,
    same_text: bool = False,
) -> list[Verdict]:
    """Another run: the first items are lost (with `labels`, then a default), the last gained, the next unjudged."""
    found = []
    for index, old in enumerate(baseline_verdicts(suite, n)):
        raw = str(index) if same_text else f"{index}c"
        label = old.primary
        if index < losses:
            label = labels[index] if index < len(labels) else DEFAULT_LABEL
        elif index >= n - gains:
            label = None
        found.append(verdict(old.item_id, suite, label, raw))
    for index in range(losses, losses + not_judged):
        found[index] = unjudged(found[index].item_id, suite)
    return found


SUITE = {"file_sha256": SHA["suite"], "items": 1, "ids_sha256": SHA["suite"]}


def engine(run: str, variant: str | None = None, **changes: Any) -> EngineRecord:
    """The engine record of a run; `changes` replace fields, `shared` fields by a nested dict."""
    variant = variant or run
    shared: dict[str, Any] = {
        "suites": {"tools": SUITE | {"split": "release"}},
        "toolsets_sha256": SHA["suite"],
        "template_sha256": SHA["suite"],
        "prompts_sha256": SHA["suite"],
        "sampling_sha256": SHA["suite"],
        "engine": "vllm",
        "engine_version": "0.0.0",
        "device": "cpu",
        "compute_capability": "avx2",
        "dtype": "bfloat16",
        "attention_backend": "TORCH_SDPA",
        "max_model_len": 2048,
        "max_num_seqs": 16,
        "max_num_batched_tokens": 2048,
        "prefix_caching": True,
    }
    record: dict[str, Any] = {
        "profile": PROFILE,
        "run": run,
        "variant": variant,
        "weights_digest": SHA[variant],
        "served_digest": SHA[variant],
        "served_name": variant,
        "mode": "launch",
        "execution": {
            "device": "cpu",
            "compute_capability": "avx2",
            "engine": "vllm",
            "engine_version": "0.0.0",
            "linear_kernel": "cpu",
            "weight_bits": 16,
            "activation_bits": 16,
            "dtype": "bfloat16",
        },
        "tool_parser": None,
        "dialect": "bare",
        "order_seed": 2 if run == "baseline-again" else 1,
        "generation_key": SHA["suite"],
        "argv": [],
        "environment": {},
        "kernel_lines": [],
        "cache_config": {},
        "responses": {},
        "hardware": {"processor": "cpu", "cores": 2, "memory_bytes": 1},
        "wall_s": {},
    }
    shared |= changes.pop("shared", {})
    return EngineRecord.model_validate(record | {"shared": shared} | changes)


def comparison(
    run: str,
    candidate: Mapping[Suite, Sequence[Verdict]],
    must_pass: Sequence[str] = (),
    candidate_engine: EngineRecord | None = None,
) -> Comparison:
    """The comparison of `run` with the baseline on the suites of `candidate`."""
    default = engine(run, "bf16" if run == "baseline-again" else None)
    sizes = {suite: len(verdicts) for suite, verdicts in candidate.items()}
    return compare(
        JudgedRun("bf16", {suite: baseline_verdicts(suite, n) for suite, n in sizes.items()}, engine("bf16")),
        JudgedRun(run, candidate, candidate_engine or default),
        {
            suite: {item_id: Asked(item_id in must_pass, item_id) for item_id in ids(suite, n)}
            for suite, n in sizes.items()
        },
        {f"engine/{run}.json": SHA["suite"]},
    )


def tools_policy(*gates: dict[str, Any], **changes: Any) -> Policy:
    """One scene `tools` with candidate fp8 before the baseline; a plain 4 pp gate unless gates are given."""
    scene: dict[str, Any] = {
        "traffic_share": 1.0,
        "candidates": ["fp8", "bf16"],
        "require": "fp8",
        "gates": list(gates) or [noninferiority_gate()],
    }
    scene |= changes.pop("scene", {})
    return Policy.model_validate({"baseline": "bf16", "scenes": {"tools": scene}} | changes)


def noninferiority_gate(margin_pp: float = 4.0, suite: Suite = "tools", **changes: Any) -> dict[str, Any]:
    return {"test": "noninferiority", "suite": suite, "margin_pp": margin_pp} | changes


def decided(
    policy: Policy,
    candidate: Sequence[Verdict],
    again: Sequence[Verdict] | None = None,
    must_pass: Sequence[str] = (),
    engines: Mapping[str, EngineRecord] | None = None,
    attempts: Sequence[Attempt] | None = None,
) -> Decision:
    """The decision on fp8 over the suite `tools`; a silent baseline-again unless one is given."""
    silent = candidate_verdicts("tools", len(candidate), same_text=True)
    records = {"bf16": engine("bf16"), "fp8": engine("fp8"), "baseline-again": engine("baseline-again", "bf16")}
    records |= engines or {}
    evidence = Evidence(
        {"fp8": comparison("fp8", {"tools": candidate}, must_pass, records["fp8"])},
        comparison("baseline-again", {"tools": again or silent}, must_pass, records["baseline-again"]),
        records,
        {"engine/fp8.json": SHA["suite"]},
        attempts or [],
    )
    return decide(PROFILE, policy, evidence)


def only_gate(decision: Decision) -> GateResult:
    """The one gate result of the scene's first candidate."""
    [result] = decision.scenes[0].candidates[0].gates
    return result


def tools(losses: int, **changes: Any) -> dict[Suite, list[Verdict]]:
    """A candidate's verdicts on 180 tool calls, with this many losses."""
    return {"tools": candidate_verdicts("tools", 180, losses, **changes)}
