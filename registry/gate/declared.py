"""Evidence that an endpoint's user declares rather than this project measures. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from registry.evidence import EngineRecord
from registry.gate.policy import Policy


def declared_runs(engines: Mapping[str, EngineRecord], policy: Policy) -> list[str]:
    """The runs whose evidence may promote nothing: asked of an endpoint that runs elsewhere, and not allowed.

    Such an endpoint's card, kernels and settings are what the profile says of them.
    """
    return [] if policy.allow_declared else [run for run, record in engines.items() if record.mode == "remote"]


def declaration(engine: EngineRecord, policy: Policy) -> str | None:
    """Why a PASS of this engine's answers would release nothing, or None."""
    if not declared_runs({engine.run: engine}, policy):
        return None
    return (
        "asked of an endpoint whose numerics are declared, not measured (engine mode remote); measure in mode launch "
        "or command, or set policy.allow_declared"
    )
