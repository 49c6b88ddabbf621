"""A decision together with everything it was made from, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from judges.metrics import Metrics
from judges.verdicts import Verdict
from quantize.manifest import Manifest
from registry.evidence import Comparison, EngineRecord
from registry.gate.decision import Decision
from registry.load_profile import LoadProfile, Serving


@dataclass(frozen=True)
class Answer:
    """One judged answer: its verdict, and the raw text that was judged (empty where there was none)."""

    verdict: Verdict
    raw: str


@dataclass(frozen=True)
class Bundle:
    """A decision and its evidence.

    `comparisons`, `engines`, `metrics` and `answers` are per run (a variant's name, or `baseline-again`), `manifests`
    per variant. Answers are in the order of their files, suites by name. `artifacts` maps the path a file gets in the
    evaluation run to the file. `judge_version` is that of the verdicts. `serving` has the load profiles of
    the variants that have a file.
    """

    decision: Decision
    comparisons: dict[str, Comparison]
    engines: dict[str, EngineRecord]
    manifests: dict[str, Manifest]
    metrics: dict[str, Metrics]
    judge_version: str
    artifacts: dict[str, Path]
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    serving: dict[str, Serving] = field(default_factory=dict)

    @property
    def loads(self) -> dict[str, LoadProfile]:
        """The load profiles that were measured, per variant, in the decision's order."""
        return {variant: found.load for variant, found in self.serving.items() if found.load is not None}
