"""Damages a tiny checkpoint in every way that must not be published. Runs in the llmcompressor environment.

`python verify_cases.py RECIPE BASE WORK` prints a JSON object: case -> what `verify` said (empty where it passed).
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from quantize.calibration import Row
from quantize.publish import backend
from quantize.recipe import RecipeError, load_recipe
from quantize.verify import verify

MODULE = "model.layers.0.mlp.up_proj"
WEIGHT = f"{MODULE}.weight"
BIAS = "model.layers.0.self_attn.q_proj.bias"
ROWS = [Row(f"row-{row}", [(7 * row + 3 * token) % 250 + 5 for token in range(32)], [1] * 32) for row in range(4)]
Damage = Callable[[Path], object]


def edit(change: Callable[[dict[str, torch.Tensor]], object]) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "model.safetensors"
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path)

    return damage


def set_config(key: str, value: object, section: str | None = None) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "config.json"
        config = json.loads(path.read_text())
        (config[section] if section else config)[key] = value
        path.write_text(json.dumps(config))

    return damage


def other_template(folder: Path) -> None:
    path = folder / "chat_template.jinja"
    path.write_text("Hello. " + path.read_text())


FP8: dict[str, Damage] = {
    "drop_tensor": edit(lambda tensors: tensors.pop(WEIGHT)),
    "add_tensor": edit(lambda tensors: tensors.update(stray=torch.zeros(1))),
    "wrong_type": edit(lambda tensors: tensors.update({WEIGHT: tensors[WEIGHT].to(torch.bfloat16)})),
    "broken_scale": edit(lambda tensors: tensors[f"{WEIGHT}_scale"].fill_(float("nan"))),
    "other_config": set_config("rope_theta", 1),
    "other_template": other_template,
}
AUTOAWQ: dict[str, Damage] = {
    "drop_zeros": edit(lambda tensors: tensors.pop(f"{MODULE}.qzeros")),
    "keep_weight": edit(lambda tensors: tensors.update({WEIGHT: torch.zeros(512, 256, dtype=torch.bfloat16)})),
    "wrong_scales": edit(lambda t: t.update({f"{MODULE}.scales": t[f"{MODULE}.scales"].to(torch.bfloat16)})),
    "wrong_shape": edit(lambda t: t.update({f"{MODULE}.qweight": t[f"{MODULE}.qweight"].t().contiguous()})),
    "zero_scale": edit(lambda tensors: tensors[f"{MODULE}.scales"].zero_()),
    "endless_bias": edit(lambda tensors: tensors[BIAS].fill_(float("inf"))),
    "other_layout": set_config("version", "gemv", "quantization_config"),
}


def main(recipe_file: Path, base: Path, work: Path) -> None:
    recipe, _ = load_recipe(recipe_file)
    good = work / "good"
    good.mkdir(parents=True)
    backend(recipe.backend)(base, recipe, ROWS, good)
    for name in ("tokenizer.json", "chat_template.jinja"):
        shutil.copyfile(base / name, good / name)
    said = {}
    damages: dict[str, Damage] = {"untouched": lambda _: None} | (AUTOAWQ if recipe.autoawq else FP8)
    for name, damage in damages.items():
        folder = work / name
        shutil.copytree(good, folder)
        damage(folder)
        try:
            verify(base, folder, recipe)
            said[name] = ""
        except RecipeError as error:
            said[name] = str(error)
    print(json.dumps(said))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
