"""Decision, engine records and manifests of the report's small run, with a chosen text in every free place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalsets.records import digest
from pipelines.params import AGAIN
from quantize.manifest import Manifest, weights_digest
from registry.evidence import EngineRecord
from registry.gate.decision import Decision
from tests.pipelines.report_settings import BASELINE, VARIANTS

FILE = {"f.bin": digest("file")}
SOME = digest("anything")


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
            "executions": {variant: engine(variant, text).execution for variant in VARIANTS},
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


def engine(run: str, text: str) -> EngineRecord:
    variant = BASELINE if run == AGAIN else run
    numerics = {"device": "cpu", "compute_capability": "avx2", "engine": "vllm", "engine_version": "0.32.0"}
    numerics |= {"dtype": "bfloat16"}
    bits = {BASELINE: 16, "awq-int4": 4, "fp8": 8}[variant]
    suite = {"file_sha256": SOME, "items": 6, "ids_sha256": SOME, "split": "release"}
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


def manifest(variant: str, text: str) -> Manifest:
    return Manifest.model_validate(
        {
            "variant": variant,
            "backend": text,
            "base_repo": text,
            "base_revision": text,
            "base_digest": SOME,
            "recipe": text,
            "recipe_text": text,
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
