"""Profiles: one strict schema for everything a run is set by, and the command that renders one to params.yaml.

`python -m pipelines.profiles use local` validates `profiles/local.yaml` and writes `params.yaml`, which DVC reads.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from evalsets.items import Suite
from evalsets.records import InputError, Record, explain, write_atomic
from pipelines.stage import run_stage
from registry.gate.policy import Policy

PROFILES = Path("profiles")
PARAMS = Path("params.yaml")
AGAIN = "baseline-again"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Dialect = Literal["hermes", "bare", "qwen_xml"]


class WheelPart(Record):
    """One data-only wheel that holds a part of the model: where it is, and what it must hash to."""

    package: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.]*$")]
    wheel_sha256: Sha256
    member: Annotated[str, Field(pattern=r"^[\w-]+(/[\w-]+)*\.bin$")]


class PypiModel(Record):
    """A model that lies in data-only wheels on the package index: parts of one GGUF file, joined in order."""

    source: Literal["pypi"]
    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    repo: str
    revision: str
    licence: str
    stand_in: bool
    parts: Annotated[list[WheelPart], Field(min_length=1)]
    joined_sha256: Sha256


class HubModel(Record):
    """A model on a hub, at a pinned commit."""

    source: Literal["hub"]
    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    licence: str
    stand_in: bool


class Calibration(Record):
    """Which conversations calibration sees: exactly `samples` rows of at most `max_tokens` tokens."""

    file: str
    samples: Annotated[int, Field(ge=1)]
    max_tokens: Annotated[int, Field(ge=16)]
    seed: int


class VariantSettings(Record):
    """One variant of the model: the recipe that makes it."""

    recipe: str


class SuiteSettings(Record):
    """A suite file and how many of its items are asked (null: all)."""

    path: str
    take: Annotated[int, Field(ge=1)] | None = None


class Engine(Record):
    """How variants are served and driven; equal for all of them. Times in seconds.

    `command` is the interpreter and module that start the server. `flags` are further engine flags, `environment`
    further variables of the engine's process. `bind_all_cores` gives a CPU engine every core. `tool_parser` null: no
    engine parser reads the dialect.
    """

    mode: Literal["launch"]
    command: Annotated[list[str], Field(min_length=1)]
    device: Literal["cpu", "cuda"]
    dtype: Literal["bfloat16", "float16"]
    max_model_len: Annotated[int, Field(ge=256)]
    max_num_seqs: Annotated[int, Field(ge=1)]
    max_num_batched_tokens: Annotated[int, Field(ge=256)]
    prefix_caching: bool
    bind_all_cores: bool = False
    flags: list[str] = []
    environment: dict[str, str] = {}
    tool_parser: str | None = None
    dialect: Dialect
    concurrency: Annotated[int, Field(ge=1, le=256)]
    start_timeout_s: Annotated[int, Field(ge=10)]
    request_timeout_s: Annotated[int, Field(ge=1)]


class Sampling(Record):
    """Every sampling field is sent with every request; the engine's and the model's own defaults never apply."""

    temperature: Annotated[float, Field(ge=0, le=2)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    top_k: int
    min_p: Annotated[float, Field(ge=0, le=1)]
    repetition_penalty: Annotated[float, Field(gt=0)]
    presence_penalty: float
    frequency_penalty: float
    seed: int
    max_tokens: dict[Suite, Annotated[int, Field(ge=1)]]


class Run(Record):
    """One pass over the suites: a variant, and the seed of the order in which its items are asked."""

    variant: str
    order_seed: int


class Registry(Record):
    """Where MLflow keeps its records, unless MLFLOW_TRACKING_URI says otherwise."""

    tracking_uri: str


class Profile(Record):
    """Everything that sets a run. `runs` holds one pass per variant and `baseline-again`, the noise floor."""

    profile: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    model: Annotated[PypiModel | HubModel, Field(discriminator="source")]
    calibration: Calibration
    variants: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")], VariantSettings], Field(min_length=1)
    ]
    suites: Annotated[dict[Suite, SuiteSettings], Field(min_length=1)]
    toolsets: str
    engine: Engine
    sampling: Sampling
    policy: Policy
    registry: Registry
    runs: dict[str, Run]

    @model_validator(mode="after")
    def _names_agree(self) -> Profile:
        known = ", ".join(self.variants)
        wanted = {"policy.baseline": [self.policy.baseline]}
        wanted |= {f"policy.scenes.{name}.candidates": scene.candidates for name, scene in self.policy.scenes.items()}
        wanted |= {f"runs.{name}.variant": [run.variant] for name, run in self.runs.items()}
        for key, names in wanted.items():
            for name in names:
                if name not in self.variants:
                    raise ValueError(f"{key}: unknown variant {name!r}; allowed: {known}")
        for name, scene in self.policy.scenes.items():
            for gate in scene.gates:
                if gate.suite not in self.suites:
                    raise ValueError(f"policy.scenes.{name}.gates: suite {gate.suite!r} is not in suites")
        return self


def load_profile(path: Path) -> Profile:
    """Read and validate a profile or params.yaml. Raises `InputError` naming file, key and allowed values."""
    try:
        settings = yaml.load(path.read_text("utf-8"), Loader=_StrictLoader)
    except FileNotFoundError:
        names = ", ".join(sorted(known.stem for known in PROFILES.glob("*.yaml")))
        raise InputError(f"{path}: no such profile; there are: {names}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(settings, dict):
        raise InputError(f"{path}: a profile is a mapping of settings; see {PROFILES / 'local.yaml'}")
    settings.setdefault("runs", _runs_of(settings))
    try:
        return Profile.model_validate(settings)
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}") from None


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


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = sorted({str(key) for key in keys if keys.count(key) > 1})
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"key given twice: {', '.join(twice)}", node.start_mark)
        return super().construct_mapping(node, deep)


def _runs_of(settings: dict[str, Any]) -> dict[str, Any]:
    variants = settings.get("variants")
    policy = settings.get("policy")
    if not isinstance(variants, dict) or not isinstance(policy, dict):
        return {}
    runs = {str(name): {"variant": str(name), "order_seed": 1} for name in variants}
    return runs | {AGAIN: {"variant": policy.get("baseline", ""), "order_seed": 2}}


def main() -> None:
    """`use NAME` renders a profile, `show` prints the active one's name."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.profiles", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("use", help="validate a profile and write params.yaml").add_argument("name")
    commands.add_parser("show", help="print the name of the active profile")
    given = parser.parse_args()
    run_stage(lambda: print(use(given.name) if given.command == "use" else load_profile(PARAMS).profile))


if __name__ == "__main__":
    main()
