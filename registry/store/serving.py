"""The load profiles beside a decision: read where they lie, and held to the weights and numerics that it is about."""

from __future__ import annotations

from pathlib import Path

from evalsets.records import InputError, digest, read_record
from registry.gate.decision import Decision
from registry.gate.execution import across
from registry.load_profile import Serving

FOLDER = "serving"


def serving_path(variant: str) -> str:
    """Where a variant's load profile lies, relative to `runs/<profile>/`."""
    return f"{FOLDER}/{variant}.json"


def read_serving(root: Path, decision: Decision) -> dict[str, Serving]:
    """The load profiles under `root` of the decision's variants, in its order; a variant without a file is not there.

    Raises `InputError` naming the file that cannot be read or that is not about this decision (`check_serving`).
    """
    paths = {variant: root / serving_path(variant) for variant in decision.weights}
    found = {variant: read_record(path, Serving) for variant, path in paths.items() if path.is_file()}
    for variant, serving in found.items():
        check_serving(variant, serving, decision)
    return found


def check_serving(variant: str, serving: Serving, decision: Decision) -> None:
    """Raise `InputError` where a load profile is of another variant, profile, weights or execution class."""
    load = serving.load
    if serving.variant != variant or (load is not None and load.variant != variant):
        raise _broken(variant, f"it is about {serving.variant if load is None else load.variant}, not {variant}")
    if load is None:
        return
    if load.profile != decision.profile:
        raise _broken(variant, f"it is of profile {load.profile}, the decision of {decision.profile}")
    if load.weights_digest != decision.weights[variant]:
        raise _broken(
            variant, f"it loaded weights {load.weights_digest}, the decision tested {decision.weights[variant]}"
        )
    decided = decision.executions.get(variant)
    if load.execution != decided:
        words = across(variant, load.execution, decided) if decided else "the decision has none"
        raise _broken(variant, f"it ran in another execution class than the decision's: {words}")


def serving_sha256(found: dict[str, Serving]) -> str:
    """SHA-256 of all load profiles together; empty where there is none."""
    return digest({variant: digest(serving) for variant, serving in found.items()}) if found else ""


def _broken(variant: str, what: str) -> InputError:
    return InputError(f"{serving_path(variant)}: {what}; measure the load again (dvc repro), or remove the file")
