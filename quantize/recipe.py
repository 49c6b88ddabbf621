"""Recipes: short YAML files that say how a variant is made. The file's header comment says why."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator


class RecipeError(Exception):
    """A recipe or checkpoint that cannot be used. The message says what, where, and what to do next."""


class Awq(BaseModel):
    """The AWQ search: grid points per layer, scaling by activations, weights or both, and the weight observer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    n_grid: Annotated[int, Field(ge=2)]
    duo_scaling: bool | Literal["both"]
    observer: Literal["memoryless_mse", "memoryless_minmax"]


class AutoAwq(BaseModel):
    """AutoAWQ's settings: weights per scale, layout, scaling by weights too, clipping, tokens of a calibration row."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    group_size: Literal[128]
    version: Literal["GEMM"]
    duo_scaling: bool
    clip: bool
    max_tokens: Annotated[int, Field(ge=16)]


class Recipe(BaseModel):
    """How a variant is made. `scheme` is a compressed-tensors preset; `max_skipped_mappings` layers may go unscaled.

    Backend `autoawq` stores the same numbers as W4A16_ASYM does, in AutoAWQ's own layout.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    backend: Literal["passthrough", "llmcompressor", "autoawq"]
    weight_bits: Literal[4, 8, 16]
    activation_bits: Literal[8, 16]
    scheme: Literal["BF16", "FP8_DYNAMIC", "W4A16_ASYM", "W4A16"]
    ignore: list[str] = []
    awq: Awq | None = None
    autoawq: AutoAwq | None = None
    max_skipped_mappings: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _scheme_fits(self) -> Recipe:
        if (self.backend == "passthrough") != (self.scheme == "BF16"):
            raise ValueError("scheme BF16 goes with backend passthrough, and with no other")
        if self.backend == "autoawq":
            self._autoawq_fits()
        elif (self.awq is not None) != self.scheme.startswith("W4A16"):
            raise ValueError("W4A16 schemes need an `awq` section, others have none")
        elif self.autoawq is not None:
            raise ValueError("an `autoawq` section goes with backend autoawq, and with no other")
        return self

    def _autoawq_fits(self) -> None:
        if self.autoawq is None or self.awq is not None:
            raise ValueError("backend autoawq needs an `autoawq` section and takes no `awq` section")
        if (self.scheme, self.weight_bits, self.ignore) != ("W4A16_ASYM", 4, ["lm_head"]):
            raise ValueError("backend autoawq makes scheme W4A16_ASYM, weight_bits 4, ignore [lm_head], nothing else")

    @property
    def calibrated(self) -> bool:
        """Whether making it needs the whole model in memory and calibration rows."""
        return self.awq is not None or self.autoawq is not None


def load_recipe(path: Path) -> tuple[Recipe, str]:
    """The recipe and the SHA-256 of its text. Raises `RecipeError` naming file and key."""
    try:
        text = path.read_bytes()
        return Recipe.model_validate(yaml.safe_load(text)), hashlib.sha256(text).hexdigest()
    except FileNotFoundError:
        known = ", ".join(sorted(recipe.as_posix() for recipe in path.parent.glob("*.yaml")))
        raise RecipeError(f"{path}: no such recipe; there are: {known or 'none'}") from None
    except yaml.YAMLError as error:
        raise RecipeError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, p['loc'])) or 'recipe'}: {p['msg']}" for p in error.errors())
        raise RecipeError(f"{path}: {problems}; keys are {', '.join(Recipe.model_fields)}") from None
