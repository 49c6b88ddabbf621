"""The release of a scene: what serves it, on which numerics, what steps in when it fails, and the evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from evalsets.items import Suite
from evalsets.records import Record
from registry.evidence import ExecutionClass, Sha256, SuiteDigest
from registry.release.load_summary import LoadSummary
from registry.release.yaml_text import read_yaml

# A scene's name becomes a folder and a model name; the length keeps the folder's name under 255 bytes.
SceneName = Annotated[str, Field(pattern=r"^[\w-]+$", max_length=60)]
VariantName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
ModelName = Annotated[str, Field(pattern=r"^[\w.-]+$", max_length=200)]


class Served(Record):
    """One variant as an engine serves it. `flags` are argument words, every one that set the measurement.

    `weights_digest` is that of the checkpoint tested, `served_digest` of the folder at `path`, which the engine loaded
    (another one where the weights were dequantized for serving). `path` is where it lay when it was measured.
    `environment` has the variables that the engine was started with, without those of the machine.
    """

    variant: VariantName
    weights_digest: Sha256
    served_digest: Sha256
    served_name: Annotated[str, Field(pattern=r"^[\w.-]+@[0-9a-f]{12}$")]
    path: Annotated[str, Field(min_length=1)]
    flags: list[str]
    environment: dict[str, str]
    execution: ExecutionClass


class RegisteredModel(Record):
    """The version in the registry that the scene's alias holds. `uri` is MLflow's (`models:/<name>/<version>`)."""

    name: ModelName
    version: Annotated[int, Field(ge=1)]
    uri: str


class ToolMode(Record):
    """How tool calls come back: the dialect the model writes, the engine's parser of it (None: none reads it)."""

    dialect: str
    parser: str | None


class Prompts(Record):
    """What the measured prompts were made of: chat template, tool lists, and the token ids of all of them together."""

    template_sha256: Sha256
    toolsets_sha256: Sha256
    prompts_sha256: Sha256


class ReleaseEvidence(Record):
    """Where the right to serve the scene comes from. `outcome` is `baseline` where it is the baseline that serves."""

    profile: str
    outcome: Literal["PASS", "baseline"]
    reason: str
    decision_sha256: Sha256
    policy_sha256: Sha256
    sampling_sha256: Sha256
    generation_key: Sha256
    judge_version: str
    suites: dict[Suite, SuiteDigest]


class Release(Record):
    """A scene and what may serve it. `fallback` is the baseline, None where that is what serves.

    `canary` and `guardrails` are the rollout's plan, `serving` what was measured under load; None where there is none.
    """

    scene: SceneName
    model: RegisteredModel
    served: Served
    fallback: Served | None
    tool_mode: ToolMode
    prompts: Prompts
    evidence: ReleaseEvidence
    canary: dict[str, Any] | None = None
    guardrails: dict[str, Any] | None = None
    serving: LoadSummary | None = None

    @property
    def all_served(self) -> list[Served]:
        """What is released, then its fallback if there is one."""
        return [self.served] if self.fallback is None else [self.served, self.fallback]


def read_release(path: Path) -> Release:
    """The release that was written at `path`. Raises `InputError` naming file and key."""
    return read_yaml(path, Release)
