"""What forbids any conclusion about a candidate, whatever its tables say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from registry.evidence import Comparison, EngineRecord, Sha256
from registry.gate.execution import across, contradictions, shared_differences
from registry.gate.policy import MustPass, Policy


def comparison_problems(comparison: Comparison, policy: Policy, inputs: Mapping[str, Sha256]) -> list[str]:
    """What is broken in one comparison: settings that differ, too many unjudged items, files of another run."""
    run = comparison.candidate
    found = []
    if comparison.mismatches:
        found.append(
            f"{run}: served otherwise than {comparison.baseline} ({', '.join(comparison.mismatches)}); "
            f"give both the same settings and generate again"
        )
    # The rate as the policy spells it, so that 0.005 means 5/1000 and not the nearest binary fraction.
    most = Fraction(str(policy.max_unjudged_rate))
    for suite, result in comparison.suites.items():
        asked = result.strict.n + len(result.unjudged)
        if len(result.unjudged) > most * asked:
            found.append(
                f"{run} on {suite}: {len(result.unjudged)} of {asked} items not judged "
                f"({', '.join(result.unjudged)}), at most {int(most * asked)} allowed; generate again"
            )
    stale = [name for name, sha256 in comparison.inputs.items() if inputs.get(name, sha256) != sha256]
    if stale:
        found.append(f"{run}: compared from another version of {', '.join(stale)}; run the compare stage again")
    return found


def engine_problems(profile: str, again: Comparison, engines: Mapping[str, EngineRecord]) -> list[str]:
    """What is broken in the engine records: another profile's, or a noise floor that measures none."""
    found = [
        f"{run}: the engine record is of profile {record.profile}, not {profile}; generate again"
        for run, record in engines.items()
        if record.profile != profile
    ]
    found += class_problems(again.baseline, again.baseline, engines)
    found += class_problems(again.candidate, again.baseline, engines)
    first, second = engines[again.baseline], engines[again.candidate]
    if first.weights_digest != second.weights_digest or first.served_digest != second.served_digest:
        found.append(f"{again.candidate}: other weights than {again.baseline}'s were served; generate both again")
    if first.order_seed == second.order_seed:
        found.append(
            f"{again.candidate}: asked in the same order as {again.baseline} (order_seed {first.order_seed}), "
            f"which measures no noise; give it another order_seed"
        )
    return found


def class_problems(run: str, baseline: str, engines: Mapping[str, EngineRecord]) -> list[str]:
    """Why a run is of another execution class than the baseline's, both by name: only the weights may differ.

    Device, compute capability, engine, version and type are the baseline's. A second run of the same weights is of
    its very class, or it measures no noise.
    """
    record, first = engines[run], engines[baseline]
    found = []
    if names := contradictions(record):
        found.append(f"{run}: its execution class and its shared settings differ in {', '.join(names)}; generate again")
    names = shared_differences(first.execution, record.execution)
    if names or (record.variant == first.variant and record.execution != first.execution):
        what = ", ".join(names) or "the same weights computed otherwise"
        words = across(run, record.execution, first.execution, baseline)
        found.append(f"measured across execution classes ({what}): {words}; generate both on one engine")
    return found


def empty_gates(policy: Policy, again: Comparison) -> list[str]:
    """The must-pass gates that protect nothing, since no item of their suite is marked."""
    return [
        f"policy.scenes.{name}.gates.{index}: no item of suite {gate.suite} is marked must_pass; "
        f"mark some among those asked or leave the gate out"
        for name, scene in policy.scenes.items()
        for index, gate in enumerate(scene.gates)
        if isinstance(gate, MustPass) and not again.suites[gate.suite].must_pass
    ]


def sameness(comparison: Comparison, engines: Mapping[str, EngineRecord]) -> str | None:
    """Why the candidate's own weights were evidently not served, or None."""
    results = comparison.suites.values()
    answers = sum(result.strict.n for result in results)
    if answers == sum(result.identical for result in results):
        return f"all {answers} answers are identical to the baseline's: the quantized weights were not served"
    if engines[comparison.candidate].served_digest == engines[comparison.baseline].served_digest:
        return "the engine loaded the baseline's own files: the quantized weights were not served"
    return None


def tuning(engine: EngineRecord) -> str | None:
    """Why a PASS on these items would release nothing, or None: recipes are tuned on the dev split."""
    dev = [suite for suite, asked in engine.shared.suites.items() if asked.split == "dev"]
    return (
        f"{' and '.join(dev)} asked from the dev split, on which recipes are tuned; ask the release split"
        if dev
        else None
    )
