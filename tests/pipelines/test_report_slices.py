"""Categories: every domain and tag of the baseline, and which of them tell nothing."""

from __future__ import annotations

import pytest

from judges.metrics import Slice
from pipelines.reporting.slices import difficulty, slices
from tests.pipelines.report_material import material


def test_every_domain_and_tag_has_a_row() -> None:
    made = material()
    text = slices(made)
    for metrics in made.metrics[made.decision.baseline].suites.values():
        for name in [*metrics.domains, *metrics.tags]:
            assert f"| {name.replace('_', chr(92) + '_')} |" in text


@pytest.mark.parametrize(
    ("right", "judged", "says"),
    [(2, 20, "too hard"), (3, 20, ""), (18, 20, ""), (19, 20, "too easy"), (0, 0, ""), (0, 1, "too hard")],
)
def test_difficulty(right: int, judged: int, says: str) -> None:
    assert difficulty(Slice(n=20, judged=judged, strict_ok=right, tolerant_ok=right)) == says
