"""Stage gate: the decision, from the comparisons, the engine records, the manifests and the policy.

Without a flag it writes decision.json and exits 0 whatever was decided. `--check` decides again, prints, and exits by
the decision: 0 every required candidate passes, 1 one FAILs, 3 one is INCONCLUSIVE, 2 anything was broken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from evalsets.items import Suite
from evalsets.load import load_suite
from evalsets.records import InputError, file_sha256, read_record, write_record
from evalsets.records import explain as describe_error
from pipelines.layout import Layout
from pipelines.profiles import AGAIN, PARAMS, Profile, load_profile
from quantize.manifest import Manifest
from registry.evidence import Comparison, EngineRecord
from registry.gate.decide import check_weights
from registry.gate.decide import decide as decide_scenes
from registry.gate.decision import Decision
from registry.gate.explain import decidable, explain, refuse_unsound
from registry.gate.summary import summary

UNDECIDABLE = 3
BROKEN = 2


def decide(profile: Profile) -> Decision:
    """Decide from the files under `runs/<profile>/`. Raises `InputError` where one is missing or broken."""
    policy, layout = profile.policy, Layout.of(profile.profile)
    refuse_unsound(policy, _suite_sizes(profile))
    runs = [*profile.variants, AGAIN]
    compared = [run for run in runs if run != policy.baseline]
    comparisons = {run: read_record(layout.comparison(run), Comparison) for run in compared}
    engines = {run: read_record(layout.engine(run), EngineRecord) for run in runs}
    check_weights(engines, {variant: _manifest(layout.manifest(variant)) for variant in profile.variants})
    files = [layout.comparison(run) for run in compared]
    files += [layout.engine(run) for run in runs] + [layout.manifest(variant) for variant in profile.variants]
    return decide_scenes(
        profile.profile,
        policy,
        {run: comparisons[run] for run in compared if run != AGAIN},
        comparisons[AGAIN],
        engines,
        {path.relative_to(layout.root).as_posix(): file_sha256(path) for path in files},
    )


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


def _manifest(path: Path) -> Manifest:
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run the quantize stage (dvc repro)") from None
    except ValidationError as error:
        raise InputError(f"{path}: {describe_error(error)}; run the quantize stage again") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the stage's three commands and return the exit code; whatever goes wrong is one line and a 2."""
    given = _arguments(argv)
    try:
        profile = load_profile(given.profile_file)
        if given.explain:
            return explain_policy(profile, given.strict)
        if given.check:
            return check(profile)
        write_record(Layout.of(profile.profile).decision, decide(profile))
        return 0
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
    except Exception as error:  # a traceback's exit code 1 would read as a FAIL
        print(f"error: the gate itself failed: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
    return BROKEN


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.gate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile-file", type=Path, default=PARAMS, help="rendered profile (default: %(default)s)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="print the decision and exit by it: 0, 1, 2 or 3")
    what.add_argument("--explain", action="store_true", help="print what the policy can decide; needs no run")
    parser.add_argument("--strict", action="store_true", help="with --explain: exit 3 if a gate cannot be decided")
    given = parser.parse_args(argv)
    if given.strict and not given.explain:
        parser.error("--strict goes with --explain")
    return given


if __name__ == "__main__":
    sys.exit(main())
