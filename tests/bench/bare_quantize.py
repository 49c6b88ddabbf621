"""llm-compressor alone, as its users write it: `python bare_quantize.py RECIPE BASE ROWS TARGET`.

Runs in the llmcompressor environment and imports nothing of this repository. The recipe is one of quantize/recipes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
import yaml
from datasets import Dataset
from llmcompressor import oneshot
from llmcompressor.entrypoints.model_free import model_free_ptq
from llmcompressor.modifiers.quantization import QuantizationModifier
from llmcompressor.modifiers.transform.awq import AWQModifier
from llmcompressor.pipelines.cache import IntermediatesCache
from transformers import AutoModelForCausalLM, AutoTokenizer


def awq(recipe: dict[str, Any], base: str, rows: Path, target: str) -> None:
    search = recipe["awq"]
    if not torch.accelerator.is_available():
        IntermediatesCache.pin_memory = lambda *_, **__: None  # fails without an accelerator
    token_ids = [json.loads(line)["input_ids"] for line in rows.open(encoding="utf-8")]
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(base)
    oneshot(
        model=model,
        processor=tokenizer,
        dataset=Dataset.from_dict({"input_ids": token_ids, "attention_mask": [[1] * len(ids) for ids in token_ids]}),
        recipe=[
            AWQModifier(n_grid=search["n_grid"], duo_scaling=search["duo_scaling"]),
            QuantizationModifier(
                scheme=recipe["scheme"],
                targets=["Linear"],
                ignore=recipe["ignore"],
                weight_observer=search["observer"],
            ),
        ],
        num_calibration_samples=len(token_ids),
        max_seq_length=max(map(len, token_ids)),
        shuffle_calibration_samples=False,
    )
    model.save_pretrained(target, save_compressed=True)
    tokenizer.save_pretrained(target)


def main(recipe_file: str, base: str, rows: str, target: str) -> None:
    recipe = yaml.safe_load(Path(recipe_file).read_text("utf-8"))
    if "awq" in recipe:
        awq(recipe, base, Path(rows), target)
    else:
        model_free_ptq(base, target, scheme=recipe["scheme"], ignore=recipe["ignore"])


if __name__ == "__main__":
    main(*sys.argv[1:])
