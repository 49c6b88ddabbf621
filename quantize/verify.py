"""Is a staged checkpoint what its recipe says? Checked tensor by tensor against the base, before it is published."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from safetensors import safe_open

from quantize.chat_template import ChatTemplate
from quantize.recipe import AutoAwq, Recipe, RecipeError

# What a quantizer may change in config.json. Anything else would change the model.
FREE_CONFIG_KEYS = {"quantization_config", "transformers_version", "torch_dtype", "dtype", "_name_or_path"}
# AutoAWQ's layout: eight 4-bit weights a word, and FP16 whatever the base has.
AUTOAWQ_FLOAT = "F16"
AUTOAWQ_TYPES = {"qweight": "I32", "qzeros": "I32", "scales": AUTOAWQ_FLOAT}
PER_WORD = 8
PROBE = [{"role": "user", "content": "Refund 12900.00 for SO-1001, 谢谢。"}]
PROBE_TOOLS = [{"type": "function", "function": {"name": "refund", "description": "退款", "parameters": {}}}]


def verify(base: Path, staging: Path, recipe: Recipe) -> None:
    """Raise `RecipeError` naming every tensor, config key or prompt that is not as the recipe says."""
    problems = _tensor_problems(base, staging, recipe) + _config_problems(base, staging, recipe)
    before = ChatTemplate(base).ids(PROBE, PROBE_TOOLS)
    after = ChatTemplate(staging).ids(PROBE, PROBE_TOOLS)
    if before != after:
        problems.append("a rendered prompt has other token ids than with the base")
    if problems:
        shown = "; ".join(problems[:8]) + (f"; and {len(problems) - 8} more" if len(problems) > 8 else "")
        raise RecipeError(f"{staging.name}: not published: {shown}")


def is_quantized(name: str, shape: list[int], recipe: Recipe) -> bool:
    """Whether the recipe quantizes the base tensor `name`: linear weights that are not on the ignore list."""
    module = name.removesuffix(".weight")
    if recipe.scheme == "BF16" or not name.endswith(".weight") or len(shape) != 2 or module.endswith("embed_tokens"):
        return False
    return not any(re.match(rule[3:], module) if rule.startswith("re:") else rule == module for rule in recipe.ignore)


def _tensor_problems(base: Path, staging: Path, recipe: Recipe) -> list[str]:
    before, after = headers(base), headers(staging)
    expected: dict[str, str | None] = {name: dtype for name, (dtype, _) in before.items()}
    shapes: dict[str, list[int]] = {}
    for name, (_, shape) in before.items():
        if not is_quantized(name, shape, recipe):
            continue
        del expected[name]
        if recipe.autoawq is not None:
            module = name.removesuffix(".weight")
            expected |= {f"{module}.{part}": dtype for part, dtype in AUTOAWQ_TYPES.items()}
            if f"{module}.bias" in before:
                expected[f"{module}.bias"] = AUTOAWQ_FLOAT
            shapes |= {f"{module}.{part}": size for part, size in _autoawq_shapes(shape, recipe.autoawq).items()}
        elif recipe.weight_bits == 8:
            expected |= {name: "F8_E4M3", f"{name}_scale": None}
        else:
            expected |= {f"{name}_packed": "I32", f"{name}_scale": None, f"{name}_shape": None}
            if recipe.scheme.endswith("ASYM"):
                expected[f"{name}_zero_point"] = None
    problems = [f"{name} is missing" for name in sorted(expected.keys() - after.keys())]
    problems += [f"{name} is not expected" for name in sorted(after.keys() - expected.keys())]
    for name in sorted(expected.keys() & after.keys()):
        wanted, got = expected[name], after[name][0]
        if wanted is not None and wanted != got:
            problems.append(f"{name} is {got}, not {wanted}")
        if name in shapes and shapes[name] != after[name][1]:
            problems.append(f"{name} has shape {after[name][1]}, not {shapes[name]}")
    return problems + _value_problems(staging)


def _autoawq_shapes(shape: list[int], settings: AutoAwq) -> dict[str, list[int]]:
    # Inputs first, outputs packed: the other way round than the base's [outputs, inputs].
    outputs, inputs = shape
    groups = inputs // settings.group_size
    packed = outputs // PER_WORD
    return {"qweight": [inputs, packed], "qzeros": [groups, packed], "scales": [groups, outputs]}


def headers(folder: Path) -> dict[str, tuple[str, list[int]]]:
    """Type and shape of every tensor of a checkpoint folder, from the safetensors headers alone."""
    found: dict[str, tuple[str, list[int]]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - not a dict
                part = file.get_slice(name)
                found[name] = (part.get_dtype(), part.get_shape())
    return found


def _value_problems(staging: Path) -> list[str]:
    problems = []
    for path in sorted(staging.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - not a dict
                if name.endswith(("_scale", ".scales")):
                    scale = file.get_tensor(name).float()
                    if not (scale.isfinite().all() and (scale > 0).all()):
                        problems.append(f"{name} has a scale that is not a positive finite number")
                elif name.endswith(".bias") and not file.get_tensor(name).float().isfinite().all():
                    problems.append(f"{name} has a value that is not finite")
    return problems


def _config_problems(base: Path, staging: Path, recipe: Recipe) -> list[str]:
    before, after = _config(base), _config(staging)
    keys = (before.keys() | after.keys()) - FREE_CONFIG_KEYS
    problems = [
        f"config.json: {key} is {after.get(key)!r}, the base has {before.get(key)!r}"
        for key in sorted(keys)
        if before.get(key) != after.get(key)
    ]
    if recipe.autoawq is not None:
        wanted = _autoawq_config(recipe, recipe.autoawq)
        if (got := after.get("quantization_config")) != wanted:
            problems.append(f"config.json: quantization_config is {got!r}, not {wanted!r}")
    return problems


def _autoawq_config(recipe: Recipe, settings: AutoAwq) -> dict[str, Any]:
    return {
        "quant_method": "awq",
        "bits": recipe.weight_bits,
        "group_size": settings.group_size,
        "zero_point": recipe.scheme.endswith("ASYM"),
        "version": settings.version.lower(),
        "modules_to_not_convert": None,
    }


def _config(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
    return loaded
