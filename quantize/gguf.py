"""From a GGUF file to a checkpoint as everyone else expects one: bf16 safetensors, tokenizer, chat template."""

from __future__ import annotations

import sys
from pathlib import Path


def dequantize_gguf(gguf: Path, target: Path) -> None:
    """Write `gguf`'s weights as bf16 safetensors with tokenizer and chat template into the empty folder `target`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging

    if not sys.stderr.isatty():
        logging.disable_progress_bar()
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # GGUF carries the end-of-turn id, the converted tokenizer forgets it: an engine would never stop.
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(model.config.eos_token_id)
    model.config._name_or_path = ""
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
