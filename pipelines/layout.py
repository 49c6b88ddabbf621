"""Where each file of a run lies: `runs/<profile>/…`, and scratch in `.work/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

WORK = Path(".work")


@dataclass(frozen=True)
class Layout:
    """The files of one profile's run, as paths relative to the repository's root."""

    root: Path

    @classmethod
    def of(cls, profile: str) -> Layout:
        """The layout of a profile by its name."""
        return cls(Path("runs") / profile)

    @property
    def source(self) -> Path:
        return self.root / "source.json"

    @property
    def base(self) -> Path:
        return self.root / "base"

    @property
    def calibration(self) -> Path:
        return self.root / "calibration.jsonl"

    @property
    def attempts(self) -> Path:
        return self.root / "attempts.jsonl"

    @property
    def decision(self) -> Path:
        return self.root / "decision.json"

    @property
    def report(self) -> Path:
        return self.root / "report.md"

    @property
    def report_html(self) -> Path:
        return self.root / "report.html"

    @property
    def report_xml(self) -> Path:
        return self.root / "report.xml"

    @property
    def promotion(self) -> Path:
        return self.root / "promotion.json"

    @property
    def release(self) -> Path:
        return self.root / "release"

    def scene_release(self, scene: str) -> Path:
        return self.release / scene

    def checkpoint(self, variant: str) -> Path:
        return self.root / "checkpoints" / variant

    def manifest(self, variant: str) -> Path:
        return self.checkpoint(variant) / "manifest.json"

    def responses(self, run: str, suite: str) -> Path:
        return self.root / "responses" / run / f"{suite}.jsonl"

    def logprobs(self, run: str, suite: str) -> Path:
        return self.root / "responses" / run / f"{suite}.logprobs.jsonl"

    def engine(self, run: str) -> Path:
        return self.root / "engine" / f"{run}.json"

    def serving(self, variant: str) -> Path:
        return self.root / "serving" / f"{variant}.json"

    def verdicts(self, run: str, suite: str) -> Path:
        return self.root / "verdicts" / run / f"{suite}.jsonl"

    def metrics(self, run: str) -> Path:
        return self.root / "metrics" / f"{run}.json"

    def comparison(self, run: str) -> Path:
        return self.root / "comparisons" / f"{run}.json"
