"""A folder in which the stages compare and gate can run: a profile, suites, and three runs in which fp8 PASSes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from evalsets.items import Suite
from evalsets.records import write_record, write_rows
from judges.verdicts import Verdict
from pipelines import compare as compare_stage
from tests.registry.gate.evidence_builders import (
    PROFILE,
    SHA,
    engine,
    ids,
    noninferiority_gate,
)

REPOSITORY = Path(__file__).parents[3]
RUNS = {"bf16": "bf16", "fp8": "fp8", "baseline-again": "bf16"}
SIZES: dict[Suite, int] = {"qa": 100, "tools": 180}


def write_profile(require: str = "fp8", **gate: Any) -> None:
    settings = yaml.safe_load((REPOSITORY / "profiles" / "local.yaml").read_text("utf-8"))
    scene = {"traffic_share": 1.0, "candidates": ["fp8", "bf16"], "require": require}
    settings |= {
        "profile": PROFILE,
        "variants": {name: {"recipe": f"{name}.yaml"} for name in ("bf16", "fp8")},
        "suites": {suite: {"path": f"{suite}.jsonl"} for suite in SIZES},
        "policy": {
            "baseline": "bf16",
            "scenes": {"tools": scene | {"gates": [noninferiority_gate(**{"margin_pp": 5.0} | gate)]}},
        },
    }
    Path("params.yaml").write_text(yaml.safe_dump(settings), "utf-8")


def write_suites() -> None:
    common = {"cluster": "c", "split": "release", "lang": "en", "messages": [{"role": "user", "content": "?"}]}
    qa = {"domain": "service", "answers": ["1"], "match": {"kind": "exact", "normalisers": []}}
    tools = {"domain": "tools", "toolset": "t", "expect": "no_call"}
    fields: dict[Suite, dict[str, Any]] = {"qa": qa, "tools": tools}
    for suite, n in SIZES.items():
        rows = [
            common | fields[suite] | {"id": item_id, "must_pass": item_id.endswith("0")} for item_id in ids(suite, n)
        ]
        Path(f"{suite}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_run(run: str, verdicts: dict[Suite, list[Verdict]]) -> None:
    root = Path("runs") / PROFILE
    write_record(root / "engine" / f"{run}.json", engine(run, RUNS[run]))
    for suite, rows in verdicts.items():
        write_rows(root / "verdicts" / run / f"{suite}.jsonl", rows)


def write_manifest(variant: str) -> None:
    manifest: dict[str, object] = {
        "variant": variant,
        "backend": "passthrough",
        "base_repo": "base",
        "base_revision": "1",
        "base_digest": SHA["bf16"],
        "recipe": "recipe.yaml",
        "recipe_text": "",
        "recipe_sha256": SHA["other"],
        "calibration_sha256": None,
        "weight_bits": 16,
        "activation_bits": 16,
        "scheme": "none",
        "versions": {},
        "device": "cpu",
        "warnings": [],
        "skipped_mappings": 0,
        "awq_error": {},
        "files": {},
        "weights_digest": SHA[variant],
        "weight_bytes": 1,
        "wall_s": 0.0,
    }
    path = Path("runs") / PROFILE / "checkpoints" / variant / "manifest.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(manifest), "utf-8")


def compare_all() -> None:
    for run in ("fp8", "baseline-again"):
        compare_stage.main(["--run", run])
