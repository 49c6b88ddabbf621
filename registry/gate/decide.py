"""The decision: every gate of every scene and candidate, the variant chosen, and the exit code. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evalsets.records import InputError, digest
from quantize.manifest import Manifest
from registry.evidence import Attempt, Comparison, EngineRecord, Sha256
from registry.gate.attempts import too_many
from registry.gate.blockers import (
    class_problems,
    comparison_problems,
    empty_gates,
    engine_problems,
    sameness,
    tuning,
)
from registry.gate.decision import CandidateVerdict, Decision, GateResult, Outcome, SceneDecision
from registry.gate.declared import declaration, declared_runs
from registry.gate.hard_rules import baseline_floor, must_pass, new_losses
from registry.gate.noninferiority import noninferiority
from registry.gate.policy import BaselineFloor, Gate, MustPass, NewLosses, NonInferiority, Policy, Scene, check_policy

ExitCode = Literal[0, 1, 2, 3]


@dataclass(frozen=True)
class Evidence:
    """What a decision rests on.

    `comparisons` has one entry per variant but the baseline, `again` compares the baseline with its second run,
    `engines` has one per run, `inputs` (file -> SHA-256) is what all of them were read from, `attempts` is the ledger.
    """

    comparisons: Mapping[str, Comparison]
    again: Comparison
    engines: Mapping[str, EngineRecord]
    inputs: Mapping[str, Sha256]
    attempts: Sequence[Attempt] = ()


def decide(profile: str, policy: Policy, evidence: Evidence) -> Decision:
    """Judge every candidate of every scene.

    Raises `InputError` when the policy names what there is not, or when an engine record is missing.
    """
    comparisons, again, engines, inputs = evidence.comparisons, evidence.again, evidence.engines, evidence.inputs
    check_policy(policy, [policy.baseline, *comparisons], list(again.suites))
    _check_names(policy, comparisons, again, engines)
    shared = empty_gates(policy, again) + engine_problems(profile, again, engines)
    shared += comparison_problems(again, policy, inputs)
    problems = {
        name: class_problems(name, policy.baseline, engines) + comparison_problems(comparison, policy, inputs)
        for name, comparison in comparisons.items()
    }
    blocked = {name: shared + own for name, own in problems.items()}
    scenes = [_scene(name, scene, policy, evidence, blocked) for name, scene in policy.scenes.items()]
    broken = shared + [problem for own in problems.values() for problem in own]
    variants = {name: record for name, record in engines.items() if name != again.candidate}
    return Decision(
        profile=profile,
        baseline=policy.baseline,
        scenes=scenes,
        broken=broken,
        exit_code=exit_code(scenes, broken),
        policy_sha256=digest(policy),
        weights={name: record.weights_digest for name, record in variants.items()},
        executions={name: record.execution for name, record in variants.items()},
        inputs=dict(inputs),
        declared=declared_runs(engines, policy),
    )


def exit_code(scenes: Sequence[SceneDecision], broken: Sequence[str]) -> ExitCode:
    """2 when something is broken, else 1 for a required candidate with FAIL, 3 with INCONCLUSIVE, else 0."""
    if broken:
        return 2
    required = [
        verdict.outcome for scene in scenes for verdict in scene.candidates if verdict.candidate == scene.require
    ]
    return 1 if "FAIL" in required else 3 if "INCONCLUSIVE" in required else 0


def check_weights(engines: Mapping[str, EngineRecord], manifests: Mapping[str, Manifest]) -> None:
    """Raise `InputError` naming the run whose engine served other weights than the variant's manifest has now."""
    for run, record in engines.items():
        made = manifests[record.variant].weights_digest
        if record.weights_digest != made:
            raise InputError(
                f"engine record of {run}: weights {record.weights_digest[:12]} were served, but the manifest of "
                f"{record.variant} has {made[:12]}; run the generate stage for {run} again"
            )


def _scene(
    name: str, scene: Scene, policy: Policy, evidence: Evidence, blocked: Mapping[str, Sequence[str]]
) -> SceneDecision:
    baseline = policy.baseline
    verdicts = [
        CandidateVerdict(
            candidate=candidate, outcome="PASS", reason=f"{candidate} is the baseline: always allowed", gates=[]
        )
        if candidate == baseline
        else _blocked(candidate, blocked[candidate])
        if blocked[candidate]
        else _candidate(candidate, scene, policy, evidence)
        for candidate in scene.candidates
    ]
    passing = [verdict.candidate for verdict in verdicts if verdict.outcome == "PASS"]
    chosen = passing[0] if passing else baseline
    if chosen != baseline:
        reason = f"{chosen} is the first of {', '.join(scene.candidates)} that passes every gate"
    elif scene.candidates[0] == baseline:
        reason = f"{baseline} is the baseline and comes first"
    else:
        reason = f"no cheaper candidate passes: {baseline}, the baseline, serves"
    return SceneDecision(scene=name, chosen=chosen, reason=reason, require=scene.require, candidates=verdicts)


def _blocked(candidate: str, problems: Sequence[str]) -> CandidateVerdict:
    reason = f"{candidate}: INCONCLUSIVE, {problems[0]}"
    return CandidateVerdict(candidate=candidate, outcome="INCONCLUSIVE", reason=reason, gates=[])


def _candidate(candidate: str, scene: Scene, policy: Policy, evidence: Evidence) -> CandidateVerdict:
    comparison, engine = evidence.comparisons[candidate], evidence.engines[candidate]
    results = [_gate(gate, comparison, evidence.again) for gate in scene.gates]
    outcomes = [result.outcome for result in results]
    outcome: Outcome = "FAIL" if "FAIL" in outcomes else "INCONCLUSIVE" if "INCONCLUSIVE" in outcomes else "PASS"
    reason = next(result.reason for result in results if result.outcome == outcome)
    suites = list(dict.fromkeys(gate.suite for gate in scene.gates))
    never = sameness(comparison, evidence.engines)
    if outcome == "PASS":
        never = never or tuning(engine) or too_many(evidence.attempts, engine, suites, policy.max_attempts)
        never = never or declaration(engine, policy)
    if never:
        outcome, reason = "INCONCLUSIVE", f"{candidate}: INCONCLUSIVE, {never}"
    return CandidateVerdict(candidate=candidate, outcome=outcome, reason=reason, gates=results)


def _gate(gate: Gate, comparison: Comparison, again: Comparison) -> GateResult:
    candidate, result, repeated = comparison.candidate, comparison.suites[gate.suite], again.suites[gate.suite]
    match gate:
        case NonInferiority():
            return noninferiority(gate, candidate, result, repeated)
        case NewLosses():
            return new_losses(gate, candidate, result, repeated)
        case MustPass():
            return must_pass(gate, candidate, result, repeated)
        case BaselineFloor():
            return baseline_floor(gate, comparison.baseline, result)


def _check_names(
    policy: Policy, comparisons: Mapping[str, Comparison], again: Comparison, engines: Mapping[str, EngineRecord]
) -> None:
    for name, comparison in [*comparisons.items(), (again.candidate, again)]:
        if comparison.candidate != name or comparison.baseline != policy.baseline:
            raise InputError(
                f"comparison of {comparison.candidate} with {comparison.baseline} was given as {name} with "
                f"{policy.baseline}; run the compare stage for {name} again"
            )
        if comparison.suites.keys() != again.suites.keys():
            raise InputError(f"comparison of {name}: other suites than {again.candidate}'s; run compare again")
    for run in [policy.baseline, again.candidate, *comparisons]:
        if run not in engines:
            raise InputError(f"no engine record of {run}; run the generate stage for {run}")
