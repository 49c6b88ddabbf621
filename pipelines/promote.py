"""Stage promote: versions, journal and aliases in MLflow, as decision.json says. Run again, it does nothing.

The registry is MLFLOW_TRACKING_URI, else the profile's `registry.tracking_uri`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from evalsets.records import InputError, digest, write_record
from pipelines.layout import Layout
from pipelines.params import PARAMS
from pipelines.profiles import Profile, load_profile
from registry.store.apply import Target
from registry.store.apply import promote as promote_bundle
from registry.store.bundle import Bundle
from registry.store.load import load_bundle
from registry.store.mlflow_store import Store
from registry.store.plan import Plan
from registry.store.promotion import Promotion
from registry.verify.recompute import Trusted, verify
from registry.verify.settings import read_settings

BROKEN = 2


def promote(profile: Profile, settings: Path) -> list[str]:
    """Promote what `runs/<profile>/decision.json` decided, write promotion.json, and return one line per scene.

    First everything is recomputed, under `settings`, a rendered params.yaml.
    """
    layout = Layout.of(profile.profile)
    recompute(layout.root, settings)
    bundle = load_bundle(layout.root)
    _check_decided(bundle, profile)
    store = Store(os.environ.get("MLFLOW_TRACKING_URI") or profile.registry.tracking_uri)
    checkpoints = {variant: layout.checkpoint(variant) for variant in bundle.decision.weights}
    moves, promotion = promote_bundle(bundle, Target(store, profile.model.name, checkpoints), _say)
    write_record(layout.promotion, promotion)
    return _lines(bundle, moves, promotion)


def recompute(root: Path, settings: Path) -> None:
    """Judge, compare and decide again. Raises `InputError` where anything differs from what lies there."""
    verify(root, read_settings(settings), Trusted(Path()), _say)


def _check_decided(bundle: Bundle, profile: Profile) -> None:
    decision, path = bundle.decision, Layout.of(profile.profile).decision
    if decision.profile != profile.profile or decision.policy_sha256 != digest(profile.policy):
        raise InputError(f"{path}: it was decided under another policy than the profile's; run the gate stage again")
    if decision.exit_code == 2:
        raise InputError(f"{path}: nothing is promoted, this could not be decided: {'; '.join(decision.broken)}")


def _lines(bundle: Bundle, moves: Plan, promotion: Promotion) -> list[str]:
    made = {move.alias: move.reason for move in moves.moves}
    return [
        f"{scene.scene}: {served.variant}, version {served.version} of {promotion.model}"
        f" ({'moved: ' + made[scene.scene] if scene.scene in made else 'not moved'})"
        for scene in bundle.decision.scenes
        if (served := promotion.scenes.get(scene.scene)) is not None
    ]


def _say(message: str) -> None:
    if sys.stderr.isatty():
        print(message, file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, run the stage and return the exit code; whatever goes wrong is one line and a 2."""
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.promote", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile-file", type=Path, default=PARAMS, help="rendered profile (default: %(default)s)")
    given = parser.parse_args(argv)
    try:
        print("\n".join(promote(load_profile(given.profile_file), given.profile_file)))
        return 0
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
    except Exception as error:  # a traceback's exit code 1 would read as a FAIL
        print(f"error: promote itself failed: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
    return BROKEN


if __name__ == "__main__":
    sys.exit(main())
