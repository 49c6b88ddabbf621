"""The evidence chain: every digest in a decision is followed to a file, and every file must be the one meant. Pure."""

from __future__ import annotations

from evalsets.records import InputError
from quantize.manifest import Manifest, weights_digest
from registry.evidence import Comparison, EngineRecord
from registry.gate.decision import Decision
from registry.gate.execution import across

RECORDS = ("comparisons/", "engine/", "checkpoints/")


def check_chain(
    decision: Decision,
    comparisons: dict[str, Comparison],
    engines: dict[str, EngineRecord],
    manifests: dict[str, Manifest],
    files: dict[str, str],
) -> None:
    """Hold if every digest traces back from the decision to the responses and the weights.

    `comparisons` and `engines` are per run, `manifests` per variant; `files` maps a path relative to
    `runs/<profile>/` to the SHA-256 of the file that lies there. Raises `InputError` naming the file that does not
    match, that is missing, or that the chain forgot.
    """
    _check_read(decision, comparisons, engines, manifests)
    _check_inputs("decision.json", decision.inputs, _wanted_by_decision(decision), files)
    for run, comparison in comparisons.items():
        _check_inputs(_comparison(run), comparison.inputs, _wanted_by_comparison(comparison), files)
        if comparison.candidate != run or comparison.baseline != decision.baseline:
            raise _broken(_comparison(run), f"it compares {comparison.candidate} with {comparison.baseline}")
    for run, engine in engines.items():
        _check_engine(run, engine, decision, files)
    for variant, weights in decision.weights.items():
        _check_manifest(variant, weights, manifests[variant])


def _check_read(
    decision: Decision,
    comparisons: dict[str, Comparison],
    engines: dict[str, EngineRecord],
    manifests: dict[str, Manifest],
) -> None:
    """What is named was read, and what was read is named: else a record goes unchecked."""
    read = {*map(_comparison, comparisons), *map(_engine, engines), *map(_manifest, manifests)}
    records = [decision.inputs, *(comparison.inputs for comparison in comparisons.values())]
    named = {path for inputs in records for path in inputs if path.startswith(RECORDS)}
    for path in sorted((named | _wanted_by_decision(decision)) - read):
        raise _broken(path, "the evidence names it, and it was not read")
    for path in sorted(read - named):
        raise _broken(path, "neither the decision nor a comparison names it")


def _wanted_by_decision(decision: Decision) -> set[str]:
    candidates = {verdict.candidate for scene in decision.scenes for verdict in scene.candidates}
    wanted = {_comparison(run) for run in candidates - {decision.baseline}}
    return wanted | {path for variant in decision.weights for path in (_engine(variant), _manifest(variant))}


def _wanted_by_comparison(comparison: Comparison) -> set[str]:
    runs = (comparison.baseline, comparison.candidate)
    verdicts = {f"verdicts/{run}/{suite}.jsonl" for run in runs for suite in comparison.suites}
    return verdicts | {_engine(run) for run in runs}


def _check_inputs(owner: str, inputs: dict[str, str], wanted: set[str], files: dict[str, str]) -> None:
    for path in sorted(wanted - inputs.keys()):
        raise _broken(owner, f"its inputs do not name {path}")
    for path, sha256 in inputs.items():
        _check_file(path, sha256, owner, files)


def _check_engine(run: str, engine: EngineRecord, decision: Decision, files: dict[str, str]) -> None:
    if engine.run != run or engine.profile != decision.profile:
        raise _broken(_engine(run), f"it is run {engine.run} of profile {engine.profile}")
    if not engine.responses:
        raise _broken(_engine(run), "it names no responses")
    for suite, sha256 in engine.responses.items():
        _check_file(f"responses/{run}/{suite}.jsonl", sha256, _engine(run), files)
    if engine.weights_digest != decision.weights.get(engine.variant):
        raise _broken(_engine(run), f"it served other weights ({engine.weights_digest}) than the decision's")
    decided = decision.executions.get(engine.variant)
    if engine.run == engine.variant and engine.execution != decided:
        words = across(engine.variant, engine.execution, decided) if decided else "the decision has none"
        raise _broken(_engine(run), f"it ran in another execution class than the decision's: {words}")


def _check_manifest(variant: str, weights: str, manifest: Manifest) -> None:
    if manifest.weights_digest != weights:
        raise _broken(_manifest(variant), f"its weights ({manifest.weights_digest}) are not the decision's ({weights})")
    if weights_digest(manifest.files) != weights:
        raise _broken(_manifest(variant), "its weights digest is not that of its files")


def _check_file(path: str, sha256: str, owner: str, files: dict[str, str]) -> None:
    found = files.get(path)
    if found is None:
        raise _broken(path, f"{owner} names it, and there is no such file")
    if found != sha256:
        raise _broken(path, f"its SHA-256 is {found}, {owner} names {sha256}")


def _comparison(run: str) -> str:
    return f"comparisons/{run}.json"


def _engine(run: str) -> str:
    return f"engine/{run}.json"


def _manifest(variant: str) -> str:
    return f"checkpoints/{variant}/manifest.json"


def _broken(path: str, what: str) -> InputError:
    return InputError(f"{path}: {what}; the evidence does not belong together: run the stages again (dvc repro)")
