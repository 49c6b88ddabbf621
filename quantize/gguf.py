"""From a GGUF file to a checkpoint as everyone else expects one: bf16 safetensors, tokenizer, chat template."""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("gguf", "torch", "transformers")
TRACES = ("is_local", "local_files_only", "name_or_path")


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
    drop_traces(target / "tokenizer_config.json")


def conversion_id() -> str:
    """12 hex digits that change when the conversion may give other files: this module, or a library it uses."""
    versions = "".join(version(name) for name in LIBRARIES)
    return hashlib.sha256(Path(__file__).read_bytes() + versions.encode()).hexdigest()[:12]


def drop_traces(config: Path) -> None:
    """Take out of a tokenizer's config where and how it was loaded, so that equal models have equal digests."""
    settings = json.loads(config.read_text("utf-8"))
    kept = {key: value for key, value in settings.items() if key not in TRACES}
    config.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", "utf-8")
