"""What the gate stage does: decide and record, decide again and check, or explain what can be decided."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from evalsets.items import Suite
from evalsets.load import load_suite
from evalsets.records import InputError, read_record, write_record
from pipelines.layout import Layout
from pipelines.profiles import Profile, load_profile
from quantize.recipe import RecipeError
from registry.gate.decision import Decision
from registry.gate.explain import decidable, explain
from registry.gate.from_files import decide_files
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
    root = Layout.of(profile.profile).root
    return decide_files(root, profile.policy, list(profile.variants), _suite_sizes(profile))


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
