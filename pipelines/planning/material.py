"""What a plan is calculated from: the profile, and what was found on this machine without starting anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evalsets.items import Suite
from pipelines.planning.records import StageState
from pipelines.profiles import Profile
from pipelines.serving.capacity import Request, Setting
from pipelines.serving.capacity_text import Served
from pipelines.serving.cost import Basis
from quantize.recipe import Recipe
from registry.evidence import Attempt, SuiteDigest


@dataclass(frozen=True)
class Machine:
    """This machine, in bytes: free disk where `runs/` is, what of the run lies there, and memory that may be taken."""

    free_bytes: int
    present_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class Weights:
    """Weight bytes that were measured: of the base (by the hub or on disk), its largest file, and checkpoints here."""

    base_bytes: int | None = None
    largest_file_bytes: int | None = None
    checkpoints: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Prompts:
    """Prompt tokens per item of each suite, and the requests of the load test; `basis` says how they were counted."""

    basis: Basis
    suites: Mapping[Suite, Sequence[int]]
    load: Sequence[Request] = ()


@dataclass(frozen=True)
class Material:
    """Everything that `pipelines.planning.assemble.make_plan` needs.

    `setting` is None where the profile serves on a CPU. `twins` are variants served dequantized there.
    `calibration_rows`: None where the file is missing. `here`: the run will be on this machine. `warnings` and
    `refusals` were met while reading.
    """

    profile: Profile
    active: bool
    stages: Sequence[StageState]
    served: Served
    config: str
    recipes: Mapping[str, Recipe]
    setting: Setting | None
    twins: Sequence[str]
    weights: Weights
    machine: Machine
    prompts: Prompts
    asked: Mapping[Suite, SuiteDigest]
    calibration_rows: int | None
    ledger: Sequence[Attempt]
    here: bool = False
    warnings: Sequence[str] = ()
    refusals: Sequence[str] = ()
