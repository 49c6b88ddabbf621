"""The report's small run with load profiles, in the place of the material that has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipelines.reporting.material import Material
from registry.load_profile import LoadProfile, Serving
from tests.registry.load_records import faster, load_profile, serving

FACTORS = {"bf16": 1.0, "awq-int4": 1.6}  # times the output tokens per second of 50, 100 and 150


def loads(made: Material, factors: Mapping[str, float] = FACTORS, **changes: Any) -> dict[str, LoadProfile]:
    """A load profile per variant of the decision's weights, each so many times as fast as the test's own."""
    decision = made.decision
    return {
        name: faster(
            load_profile(name, decision.weights[name], decision.executions[name], profile="demo", **changes), factor
        )
        for name, factor in factors.items()
    }


def with_load(made: Material, found: Mapping[str, LoadProfile | Serving]) -> Material:
    """The material with these records in `serving/`."""
    records = {name: serving(one) if isinstance(one, LoadProfile) else one for name, one in found.items()}
    return replace(made, bundle=replace(made.bundle, serving=records))
