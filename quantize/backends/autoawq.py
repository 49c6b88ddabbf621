"""AutoAWQ: INT4 in its own GEMM layout, with the clipping step that llm-compressor lacks. Archived upstream."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import torch
from transformers import AutoTokenizer

from quantize.backends.report import BackendReport
from quantize.calibration import Row, even_blocks
from quantize.recipe import Recipe, RecipeError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that it is archived is known
    from awq import AutoAWQForCausalLM

LIBRARIES = ("autoawq", "torch", "transformers")


def make(base: Path, recipe: Recipe, rows: Sequence[Row], staging: Path) -> BackendReport:
    """Fill `staging` with the quantized checkpoint (weights and config; side files are the publisher's)."""
    if recipe.autoawq is None:
        raise RecipeError("backend autoawq needs an `autoawq` section in the recipe")
    settings = recipe.autoawq
    blocks = even_blocks([row.input_ids for row in rows], settings.max_tokens)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = AutoAWQForCausalLM.from_pretrained(
            str(base), torch_dtype=torch.bfloat16, trust_remote_code=False, use_cache=False
        )  # no cache: each try of a scale would go on from the last one's
        unscaled = _unscaled(model.model)
        model.quantize(
            AutoTokenizer.from_pretrained(base),
            quant_config={
                "w_bit": recipe.weight_bits,
                "q_group_size": settings.group_size,
                "zero_point": recipe.scheme.endswith("ASYM"),
                "version": settings.version,
            },
            calib_data=blocks,
            duo_scaling=settings.duo_scaling,
            apply_clip=settings.clip,
            max_calib_samples=len(blocks),
            max_calib_seq_len=len(blocks[0]),
        )
        model.model.config.use_cache = json.loads((base / "config.json").read_text("utf-8")).get("use_cache", True)
        model.save_quantized(str(staging))
    said = [str(one.message) for one in heard if not issubclass(one.category, DeprecationWarning | FutureWarning)]
    return BackendReport(
        versions={name: version(name) for name in LIBRARIES},
        device=torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu",
        warnings=list(dict.fromkeys(said)),
        skipped_mappings=unscaled,
        awq_error={},
        rows_cut=sum(len(row.input_ids) > settings.max_tokens for row in rows),
    )


def _unscaled(model: torch.nn.Module) -> int:
    # AutoAWQ scales v_proj -> o_proj only where both have one shape (no grouped-query attention); it does not say so.
    layers = [module for _, module in model.named_modules() if hasattr(module, "v_proj") and hasattr(module, "o_proj")]
    return sum(layer.v_proj.weight.shape != layer.o_proj.weight.shape for layer in layers)
