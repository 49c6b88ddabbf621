"""What the gate stage does: decide and record, decide again and check, or explain what can be decided."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from evalsets.items import Suite
from evalsets.load import load_suite
from evalsets.records import InputError, file_sha256, read_record, read_rows, write_record
from pipelines.layout import Layout
from pipelines.params import AGAIN
from pipelines.profiles import Profile, load_profile
from quantize.manifest import load_manifest
from quantize.recipe import RecipeError
from registry.evidence import Attempt, Comparison, EngineRecord
from registry.gate.decide import Evidence, check_weights
from registry.gate.decide import decide as decide_scenes
from registry.gate.decision import Decision
from registry.gate.explain import decidable, explain, refuse_unsound
from registry.gate.summary import summary

BROKEN = 2
UNDECIDABLE = 3


def run(given: Namespace) -> int:
    """Do what the command line says and return the exit code; bad input is one line and a 2."""
    try:
        profile = load_profile(given.profile_file)
        if given.explain:
            return explain_policy(profile, given.strict)
        if given.check:
            return check(profile)
        write_record(Layout.of(profile.profile).decision, decide(profile))
    except (InputError, RecipeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return BROKEN
    return 0


def decide(profile: Profile) -> Decision:
    """Decide from the files under `runs/<profile>/`. Raises `InputError` where one is missing or broken."""
    policy, layout = profile.policy, Layout.of(profile.profile)
    refuse_unsound(policy, _suite_sizes(profile))
    runs = [*profile.variants, AGAIN]
    compared = [run for run in runs if run != policy.baseline]
    comparisons = {run: read_record(layout.comparison(run), Comparison) for run in compared}
    engines = {run: read_record(layout.engine(run), EngineRecord) for run in runs}
    check_weights(engines, {variant: load_manifest(layout.manifest(variant)) for variant in profile.variants})
    attempts = read_rows(layout.attempts, Attempt)
    files = [layout.attempts, *(layout.comparison(run) for run in compared)]
    files += [layout.engine(run) for run in runs] + [layout.manifest(variant) for variant in profile.variants]
    evidence = Evidence(
        comparisons={run: comparisons[run] for run in compared if run != AGAIN},
        again=comparisons[AGAIN],
        engines=engines,
        inputs={path.relative_to(layout.root).as_posix(): file_sha256(path) for path in files},
        attempts=attempts,
    )
    return decide_scenes(profile.profile, policy, evidence)


def check(profile: Profile) -> int:
    """Decide again, print, and return the exit code. Raises `InputError` where decision.json says otherwise."""
    path = Layout.of(profile.profile).decision
    recorded, decision = read_record(path, Decision), decide(profile)
    if recorded != decision:
        raise InputError(f"{path}: not what its inputs give now; run the gate stage again (dvc repro gate)")
    print(summary(decision))
    return decision.exit_code


def explain_policy(profile: Profile, strict: bool) -> int:
    """Print what the policy can decide. Returns 3 if `strict` and a gate cannot be decided, else 0."""
    sizes = _suite_sizes(profile)
    print(explain(profile.policy, sizes))
    return UNDECIDABLE if strict and not decidable(profile.policy, sizes) else 0


def _suite_sizes(profile: Profile) -> dict[Suite, int]:
    return {
        suite: len(load_suite(Path(settings.path), suite, settings.take)) for suite, settings in profile.suites.items()
    }
