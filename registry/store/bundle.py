"""A decision together with everything it was made from, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from judges.metrics import Metrics
from quantize.manifest import Manifest
from registry.evidence import Comparison, EngineRecord
from registry.gate.decision import Decision


@dataclass(frozen=True)
class Bundle:
    """A decision and its evidence.

    `comparisons`, `engines` and `metrics` are per run (a variant's name, or `baseline-again`), `manifests` per variant.
    `artifacts` maps the path a file gets in the evaluation run to the file. `judge_version` is that of the verdicts.
    """

    decision: Decision
    comparisons: dict[str, Comparison]
    engines: dict[str, EngineRecord]
    manifests: dict[str, Manifest]
    metrics: dict[str, Metrics]
    judge_version: str
    artifacts: dict[str, Path]
