"""llm-compressor: FP8 by streaming the safetensors, AWQ by its one-shot pipeline."""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from datasets import Dataset
from llmcompressor import oneshot
from llmcompressor.entrypoints.model_free import model_free_ptq
from llmcompressor.modifiers.quantization import QuantizationModifier
from llmcompressor.modifiers.transform.awq import AWQModifier
from llmcompressor.pipelines.cache import IntermediatesCache
from loguru import logger
from transformers import AutoModelForCausalLM, AutoTokenizer

from quantize.backends.report import BackendReport
from quantize.calibration import Row
from quantize.recipe import Awq, Recipe

if TYPE_CHECKING:
    import loguru

SKIPPED = re.compile(r"(\d+) mappings were skipped due to incompatible shapes")
ERRORS = "AWQ per-mapping error metrics: "


def make(base: Path, recipe: Recipe, rows: Sequence[Row], staging: Path) -> BackendReport:
    """Fill `staging` with the quantized checkpoint (weights and config; side files are the publisher's)."""
    with _messages() as heard:
        if recipe.awq is None:
            model_free_ptq(str(base), str(staging), scheme=recipe.scheme, ignore=recipe.ignore)
        else:
            _awq(base, recipe, recipe.awq, rows, staging)
    warnings = list(dict.fromkeys(text for level, text in heard if level in ("WARNING", "ERROR")))
    return BackendReport(
        versions={name: version(name) for name in ("llmcompressor", "compressed-tensors", "torch", "transformers")},
        device=torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu",
        warnings=warnings,
        skipped_mappings=sum(int(found[1]) for text in warnings if (found := SKIPPED.search(text))),
        awq_error=_layer_errors(text for _, text in heard),
    )


def _awq(base: Path, recipe: Recipe, awq: Awq, rows: Sequence[Row], staging: Path) -> None:
    if not torch.accelerator.is_available():
        # Pinning needs an accelerator to pin for; llm-compressor 0.14 asks for one all the same.
        IntermediatesCache.pin_memory = lambda self, batch_index, input_names=None: None
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    data = [{"input_ids": row.input_ids, "attention_mask": [1] * len(row.input_ids)} for row in rows]
    oneshot(
        model=model,
        processor=AutoTokenizer.from_pretrained(base),
        dataset=Dataset.from_list(data),
        recipe=[
            AWQModifier(n_grid=awq.n_grid, duo_scaling=awq.duo_scaling),
            QuantizationModifier(
                scheme=recipe.scheme, targets=["Linear"], ignore=recipe.ignore, weight_observer=awq.observer
            ),
        ],
        num_calibration_samples=len(rows),
        max_seq_length=max(len(row.input_ids) for row in rows),
        shuffle_calibration_samples=False,
    )
    model.save_pretrained(staging, save_compressed=True)


def _layer_errors(messages: Iterator[str]) -> dict[str, float]:
    for text in messages:
        if text.startswith(ERRORS):
            metrics = ast.literal_eval(text.removeprefix(ERRORS))["metrics"]
            return {entry["layer_name"]: float(entry["best_error"]) for entry in metrics}
    return {}


@contextmanager
def _messages() -> Iterator[list[tuple[str, str]]]:
    """The library's log messages inside, as (level, text). Its own console output shows on a terminal only."""
    heard: list[tuple[str, str]] = []

    def hear(message: loguru.Message) -> None:
        heard.append((message.record["level"].name, message.record["message"]))

    sink = logger.add(hear, level="DEBUG")
    console = nullcontext() if sys.stderr.isatty() else redirect_stderr(io.StringIO())
    try:
        with console:
            yield heard
    finally:
        logger.remove(sink)
