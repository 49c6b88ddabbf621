"""Plans of the a100 profile from the shipped config alone, with whatever a test changes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from evalsets.items import Suite
from evalsets.load import load_suite
from pipelines.engine_modes import Engine
from pipelines.planning.assemble import make_plan
from pipelines.planning.attempts import suite_digest
from pipelines.planning.material import Machine, Material, Prompts, Weights
from pipelines.planning.records import FlagsCheck, Plan
from pipelines.profiles import Profile, load_profile
from pipelines.serving.capacity import CARDS, Request, Setting
from pipelines.serving.capacity_text import Served
from pipelines.serving.model_config import read_config, weight_format
from quantize.recipe import load_recipe

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "pipelines/serving/data/qwen2.5-32b-instruct.config.json"
RECIPES = {name: load_recipe(ROOT / f"quantize/recipes/{name}.yaml")[0] for name in ("bf16", "awq-int4", "fp8")}
BASE = 65_527_752_704


@cache
def a100() -> Profile:
    """The shipped profile."""
    return load_profile(ROOT / "profiles/a100.yaml")


@cache
def material() -> Material:
    """A machine with room for everything, 640 questions of 500 tokens, 180 calls of 1,000, a load test of 3,400."""
    sizes: dict[Suite, list[int]] = {"qa": [500] * 640, "tools": [1000] * 180}
    asked = {
        suite: suite_digest(one.model_copy(update={"path": str(ROOT / one.path)}), load_suite(ROOT / one.path, suite))
        for suite, one in a100().suites.items()
    }
    return Material(
        profile=a100(),
        active=False,
        stages=[],
        served=Served(
            "a100", "qwen2.5-32b-instruct", read_config(CONFIG), {k: weight_format(v) for k, v in RECIPES.items()}
        ),
        config=CONFIG.name,
        recipes=RECIPES,
        setting=Setting(CARDS["a100-80g"]),
        twins=[],
        weights=Weights(),
        machine=Machine(free_bytes=10**12, present_bytes=0, memory_bytes=10**12),
        prompts=Prompts("calculated", sizes, [Request(3400, 340, 2300)] * 1200),
        asked=asked,
        calibration_rows=256,
        ledger=[],
    )


def with_engine(found: Material, **changes: Any) -> Material:
    """The same with other settings of the engine."""
    return with_profile(found, engine=found.profile.engine.model_copy(update=changes))


def with_profile(found: Material, **changes: Any) -> Material:
    """The same with other sections of the profile."""
    return replace(found, profile=found.profile.model_copy(update=changes))


def accepted(engine: Engine, lines: Mapping[str, Sequence[str]]) -> FlagsCheck:
    """An engine's parser that takes everything."""
    return FlagsCheck(engine="vllm 1.0", checked=len(lines), problems={})


def plan_of(found: Material) -> Plan:
    """Its plan, flags taken as they are."""
    return make_plan(found, accepted)
