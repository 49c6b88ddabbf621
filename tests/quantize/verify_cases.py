"""Damages a tiny checkpoint in every way that must not be published. Runs in the llmcompressor environment.

`python verify_cases.py BASE WORK` prints a JSON object: case -> what `verify` said (empty where it passed).
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from quantize.backends.llm_compressor import make
from quantize.recipe import RecipeError, load_recipe
from quantize.verify import verify

WEIGHT = "model.layers.0.mlp.up_proj.weight"


def drop_tensor(folder: Path) -> None:
    edit(folder, lambda tensors: tensors.pop(WEIGHT))


def add_tensor(folder: Path) -> None:
    edit(folder, lambda tensors: tensors.update(stray=torch.zeros(1)))


def wrong_type(folder: Path) -> None:
    edit(folder, lambda tensors: tensors.update({WEIGHT: tensors[WEIGHT].to(torch.bfloat16)}))


def broken_scale(folder: Path) -> None:
    edit(folder, lambda tensors: tensors[f"{WEIGHT}_scale"].fill_(float("nan")))


def other_config(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rope_theta": 1}))


def other_template(folder: Path) -> None:
    path = folder / "chat_template.jinja"
    path.write_text("Hello. " + path.read_text())


def edit(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def main(base: Path, work: Path) -> None:
    recipe, _ = load_recipe(Path("quantize/recipes/fp8.yaml"))
    good = work / "good"
    good.mkdir(parents=True)
    make(base, recipe, [], good)
    said = {}
    cases = [None, drop_tensor, add_tensor, wrong_type, broken_scale, other_config, other_template]
    for damage in cases:
        folder = work / (damage.__name__ if damage else "untouched")
        shutil.copytree(good, folder)
        if damage:
            damage(folder)
        try:
            verify(base, folder, recipe)
            said[folder.name] = ""
        except RecipeError as error:
            said[folder.name] = str(error)
    print(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
