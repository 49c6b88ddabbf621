"""The shipped configs, a card and the recipes' formats, for the tests of capacity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines.serving.capacity import (
    CARDS,
)
from pipelines.serving.model_config import (
    ModelConfig,
    WeightFormat,
    read_config,
    weight_format,
)
from quantize.recipe import load_recipe

ROOT = Path(__file__).parents[3]
DATA = ROOT / "pipelines/serving/data"
EVIDENCE = ROOT / "evidence/local"
BIG = read_config(DATA / "qwen2.5-32b-instruct.config.json")
STAND_IN = read_config(DATA / "qwen2.5-coder-0.5b-instruct.config.json")
CARD = CARDS["a100-80g"]
BF16 = WeightFormat(16)
# The files hold names and offsets of the tensors beside their bytes.
HEADER_SHARE = 0.0002


def recipe_format(path: str) -> WeightFormat:
    """The format of a shipped recipe."""
    return weight_format(load_recipe(ROOT / path)[0])


FORMATS = {name: recipe_format(f"quantize/recipes/{name}.yaml") for name in ("bf16", "fp8", "awq-int4")}


def changed(**values: Any) -> ModelConfig:
    """The 32B's config with other values."""
    return ModelConfig.model_validate(BIG.model_dump() | values)
