"""Everything that the report is made from, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalsets.items import QaItem, Suite, ToolItem, Toolset
from evalsets.responses import Response
from judges.metrics import Metrics
from judges.verdicts import Verdict
from pipelines.params import AGAIN
from pipelines.profiles import Profile
from registry.evidence import Comparison, EngineRecord
from registry.gate.decision import Decision
from registry.store.bundle import Bundle


@dataclass(frozen=True)
class Material:
    """A profile, its decision with the evidence, and per run what was answered and how it was judged.

    `items` are those that were asked, by id in the suite's order; `verdicts` and `responses` are by run, suite, item.
    """

    profile: Profile
    bundle: Bundle
    items: Mapping[Suite, Mapping[str, QaItem | ToolItem]]
    toolsets: Mapping[str, Toolset]
    verdicts: Mapping[str, Mapping[Suite, Mapping[str, Verdict]]]
    responses: Mapping[str, Mapping[Suite, Mapping[str, Response]]]

    @property
    def decision(self) -> Decision:
        return self.bundle.decision

    @property
    def baseline(self) -> EngineRecord:
        """How the baseline was served."""
        return self.bundle.engines[self.decision.baseline]

    @property
    def engines(self) -> dict[str, EngineRecord]:
        """How every run was served, in the profile's order of runs."""
        return {run: self.bundle.engines[run] for run in self.profile.runs}

    @property
    def metrics(self) -> dict[str, Metrics]:
        """The metrics of every run, in the same order."""
        return {run: self.bundle.metrics[run] for run in self.profile.runs}

    @property
    def candidates(self) -> dict[str, Comparison]:
        """The comparisons but baseline-again's, in the profile's order of variants."""
        found = self.bundle.comparisons
        return {run: found[run] for run in self.profile.variants if run in found}

    @property
    def again(self) -> Comparison:
        """The baseline asked again: the noise floor."""
        return self.bundle.comparisons[AGAIN]
