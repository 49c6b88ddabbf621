"""Stage release: per scene what the promotion left serving it, as files for vLLM, gateways and monitoring.

Nothing is released that the decision did not test and pass. A scene that goes on being served by an earlier decision's
version keeps the release it has; where that lies elsewhere, it is said and left out. Addresses are placeholders unless
--backends says where the engines answer.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalsets.records import InputError, read_record, write_atomic
from pipelines.layout import Layout
from pipelines.params import PARAMS
from pipelines.profiles import load_profile
from registry.gate.decision import Decision
from registry.release.alert_rules import Limits
from registry.release.backends import Backends, Route, placeholders
from registry.release.canary import Canary
from registry.release.files import NAMES, RELEASE, fleet_files, scene_files
from registry.release.release import Release, read_release
from registry.release.release_of import Additions, check_promotion, refusal, release_of
from registry.release.yaml_text import read_yaml
from registry.store.bundle import Bundle
from registry.store.load import load_bundle
from registry.store.promotion import Promotion

BROKEN = 2
SCENE = re.compile(r"[\w-]{1,60}")


@dataclass(frozen=True)
class Rollout:
    """What is no evidence: where engines answer, per scene its release's share (1 unless given) and plan, limits."""

    backends: Backends | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    additions: Mapping[str, Additions] = field(default_factory=dict)
    limits: Limits | None = None


def release(layout: Layout, rollout: Rollout, out: Path | None = None) -> list[str]:
    """Write `out` (`runs/<profile>/release/` unless given) and return one line per scene.

    Files whose text is the same stay untouched. Everything is made before anything is written.
    """
    folder = out or layout.release
    promotion = read_record(layout.promotion, Promotion)
    bundle = load_bundle(layout.root)
    check_promotion(promotion, bundle.decision)
    _check_names(promotion.scenes, layout.promotion)
    found = [_release(scene, promotion, bundle, rollout, folder) for scene in promotion.scenes]
    releases = [made for made in found if isinstance(made, Release)]
    _check_scenes(rollout, promotion)
    refused = [reason for reason in found if isinstance(reason, str)]
    if not releases:
        return refused
    routes = [Route(made, rollout.shares.get(made.scene, 1.0)) for made in releases]
    backends = rollout.backends or placeholders(releases)
    made = {route.release.scene: scene_files(route, backends, rollout.limits) for route in routes}
    fleet = fleet_files(routes, backends)
    changed = {scene: _write(folder / scene, files) for scene, files in made.items()}
    _write(folder, fleet)
    _clear(folder, made)
    return [_line(route, changed[route.release.scene], folder) for route in routes] + refused


def canaries(layout: Layout) -> dict[str, Additions]:
    """The default canary plan for every scene that is served by something else than the baseline."""
    promotion, decision = read_record(layout.promotion, Promotion), read_record(layout.decision, Decision)
    plan = Canary().model_dump(mode="json")
    served = {scene: now.variant for scene, now in promotion.scenes.items()}
    return {scene: Additions(canary=plan) for scene, variant in served.items() if variant != decision.baseline}


def _release(scene: str, promotion: Promotion, bundle: Bundle, rollout: Rollout, folder: Path) -> Release | str:
    """The release of a scene, or why there is none: another decision's weights serve it."""
    refused = refusal(scene, promotion, bundle.decision)
    if refused is None:
        return release_of(scene, promotion, bundle, rollout.additions.get(scene))
    path = folder / scene / RELEASE
    earlier = read_release(path) if path.is_file() else None
    if earlier is None or earlier.served.weights_digest != promotion.scenes[scene].weights_digest:
        return f"{scene}: no release from here: {refused}; its release is with the evidence that promoted it"
    return earlier


def _check_names(scenes: Iterable[str], path: Path) -> None:
    # Before any path is made of a name.
    for scene in scenes:
        if not SCENE.fullmatch(scene):
            raise InputError(
                f"{path}: scene {scene!r} cannot be a folder; use up to 60 letters, digits, _ and -: "
                "rename the scene in the policy"
            )


def _check_scenes(rollout: Rollout, promotion: Promotion) -> None:
    for scene in [*rollout.shares, *rollout.additions]:
        if scene not in promotion.scenes:
            known = ", ".join(promotion.scenes)
            raise InputError(f"{scene}: no such scene was promoted; promoted are: {known or 'none'}")


def _write(folder: Path, files: Mapping[str, str]) -> int:
    """Write what is not there yet or is other text; how many files that were."""
    changed = 0
    for name, text in files.items():
        path, data = folder / name, text.encode("utf-8")
        if not path.is_file() or path.read_bytes() != data:
            write_atomic(path, data)
            changed += 1
    return changed


def _clear(folder: Path, made: Mapping[str, Mapping[str, str]]) -> None:
    """Remove what an earlier release left and this one has not: a scene, or a fallback's files."""
    for path in sorted(folder.glob(f"*/{RELEASE}")):
        scene = path.parent
        for name in sorted(NAMES - made.get(scene.name, {}).keys()):
            (scene / name).unlink(missing_ok=True)
        if scene.name not in made and not any(scene.iterdir()):
            scene.rmdir()


def _line(route: Route, changed: int, folder: Path) -> str:
    release, share = route.release, "" if route.share == 1 else f" for {route.share:.2%} of sessions"
    fallback = f", fallback {release.fallback.variant}" if release.fallback else ""
    what = f"{release.served.variant}{share}, version {release.model.version} of {release.model.name}{fallback}"
    return f"{release.scene}: {what}: {folder / release.scene} ({changed or 'no'} files changed)"


def _share(text: str) -> tuple[str, float]:
    scene, _, share = text.partition("=")
    try:
        return scene, float(share)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: SCENE=SHARE is wanted, such as qa=0.05") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, run the stage and return the exit code; whatever goes wrong is one line and a 2."""
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile-file", type=Path, default=PARAMS, help="rendered profile (default: %(default)s)")
    parser.add_argument("--backends", type=Path, metavar="FILE", help="YAML with `backends`: variant -> base URLs")
    parser.add_argument(
        "--share", type=_share, action="append", default=[], metavar="SCENE=SHARE", help="sessions for the release"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder (default: release/ of the run)")
    given = parser.parse_args(argv)
    try:
        backends = read_yaml(given.backends, Backends) if given.backends else None
        layout = Layout.of(load_profile(given.profile_file).profile)
        rollout = Rollout(backends=backends, shares=dict(given.share), additions=canaries(layout))
        print("\n".join(release(layout, rollout, given.out)))
        return 0
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
    except Exception as error:  # a traceback's exit code 1 would read as a FAIL
        print(f"error: release itself failed: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
    return BROKEN


if __name__ == "__main__":
    sys.exit(main())
