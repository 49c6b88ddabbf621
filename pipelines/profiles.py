"""Profiles: one strict schema for everything a run is set by, and the command that renders one to params.yaml.

`python -m pipelines.profiles use local` validates `profiles/local.yaml` and writes `params.yaml`, which DVC reads.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import yaml
from pydantic import model_validator

from evalsets.records import InputError, Record, write_atomic
from pipelines.params import AGAIN, PARAMS, read_settings, validated
from pipelines.serving.load.settings import LoadParams
from pipelines.stage import run_stage
from quantize.recipe import load_recipe
from registry.gate.policy import Policy

PROFILES = Path("profiles")


class Registry(Record):
    """Where MLflow keeps its records, unless MLFLOW_TRACKING_URI says otherwise."""

    tracking_uri: str


class Profile(LoadParams):
    """Everything that sets a run: the sections of `LoadParams`, the policy and the registry."""

    policy: Policy
    registry: Registry

    @model_validator(mode="after")
    def _names_agree(self) -> Profile:
        known = ", ".join(self.variants)
        wanted = {"policy.baseline": [self.policy.baseline]}
        wanted |= {f"policy.scenes.{name}.candidates": scene.candidates for name, scene in self.policy.scenes.items()}
        wanted |= {f"runs.{name}.variant": [run.variant] for name, run in self.runs.items()}
        wanted |= {"load.variants": self.load.variants} if self.load else {}
        if self.load and self.load.tuning:
            wanted["load.tuning.variants"] = self.load.tuning.variants or []
        for key, names in wanted.items():
            for name in names:
                if name not in self.variants:
                    raise ValueError(f"{key}: unknown variant {name!r}; allowed: {known}")
        for name in self.compared:
            if name not in self.runs:
                raise ValueError(f"compared: unknown run {name!r}; allowed: {', '.join(self.runs)}")
        for name, scene in self.policy.scenes.items():
            for gate in scene.gates:
                if gate.suite not in self.suites:
                    suites = ", ".join(self.suites)
                    raise ValueError(
                        f"policy.scenes.{name}.gates: suite {gate.suite!r} is not asked; allowed: {suites}"
                    )
        return self


def load_profile(path: Path) -> Profile:
    """Read and validate a profile or params.yaml. Raises `InputError` naming file, key and allowed values."""
    settings = read_settings(path)
    _derive_runs(settings)
    _derive_traffic(settings)
    return validated(settings, Profile, path)


def render(profile: Profile, source: Path) -> str:
    """params.yaml for a profile: every key written out, in the schema's order."""
    head = f"# Rendered from {source.as_posix()} by `make use PROFILE={profile.profile}`: edit that file instead.\n"
    return head + yaml.safe_dump(profile.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120)


def use(name: str) -> str:
    """Validate `profiles/<name>.yaml`, write params.yaml, and return what was done in one line."""
    path = PROFILES / f"{name}.yaml"
    profile = load_profile(path)
    if profile.profile != name:
        raise InputError(f"{path}: profile: {profile.profile!r} must be the file's name, {name!r}")
    text = render(profile, path).encode()
    if not PARAMS.exists() or PARAMS.read_bytes() != text:
        write_atomic(PARAMS, text)
    return f"params.yaml now holds profile {name}"


def environments(profile: Profile) -> list[str]:
    """Names of the environments that a profile's stages run in, but the control one; each has its file in `envs/`."""
    names = [profile.environments.quantize]
    if profile.engine.mode == "launch":
        names.append(profile.environments.engine)
    recipes = [load_recipe(Path(variant.recipe))[0] for variant in profile.variants.values()]
    return [*names, *(["autoawq"] if any(recipe.backend == "autoawq" for recipe in recipes) else [])]


def _derive_runs(settings: dict[str, Any]) -> None:
    # Every variant is run once, the baseline twice; a rendered params.yaml holds both keys already.
    variants, policy = settings.get("variants"), settings.get("policy")
    if isinstance(variants, dict) and isinstance(policy, dict):
        baseline = policy.get("baseline")
        runs: dict[str, Any] = {name: {"variant": name, "order_seed": 1} for name in variants}
        settings.setdefault("runs", runs | {AGAIN: {"variant": baseline, "order_seed": 2}})
        if isinstance(settings["runs"], dict):
            settings.setdefault("compared", [name for name in settings["runs"] if name != baseline])


def _derive_traffic(settings: dict[str, Any]) -> None:
    # A load test's traffic has the policy's shares, said once.
    load, policy = settings.get("load"), settings.get("policy")
    scenes = policy.get("scenes") if isinstance(policy, dict) else None
    if isinstance(load, dict) and isinstance(scenes, dict):
        traffic = load.setdefault("traffic", {})
        if isinstance(traffic, dict):
            shares = {name: scene.get("traffic_share") for name, scene in scenes.items() if isinstance(scene, dict)}
            traffic.setdefault("scenes", {name: share for name, share in shares.items() if share})


def main() -> None:
    """`use NAME` renders a profile, `show` prints the active one's name."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.profiles", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("use", help="validate a profile and write params.yaml").add_argument("name")
    commands.add_parser("show", help="print the name of the active profile")
    commands.add_parser("environments", help="print the environments that the active profile runs in")
    given = parser.parse_args()
    run_stage(lambda: print(_answer(given)))


def _answer(given: argparse.Namespace) -> str:
    if given.command == "use":
        return use(given.name)
    profile = load_profile(PARAMS)
    return profile.profile if given.command == "show" else " ".join(environments(profile))


if __name__ == "__main__":
    main()
