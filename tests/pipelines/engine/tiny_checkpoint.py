"""A checkpoint folder of a few kilobytes: byte-level tokenizer, chat template, weights of no use, manifest."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from quantize.manifest import MANIFEST, Manifest, file_digests, weights_digest

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = """\
{%- if tools %}
    {{- '<|im_start|>system\\nCall one of:' }}
    {%- for tool in tools %}
        {{- '\\n' }}{{ tool | tojson }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' and loop.first %}
        {{- raise_exception('a tool cannot speak first') }}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {{- '\\n<tool_call>\\n' }}
        {{- {'name': call.function.name, 'arguments': call.function.arguments} | tojson }}
        {{- '\\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def make_checkpoint(folder: Path, weights: bytes = b"weights") -> Manifest:
    """Fill `folder` (made if need be) and return the manifest that was written there."""
    folder.mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(TEMPLATE, "utf-8")
    (folder / "config.json").write_text(json.dumps({"model_type": "none"}), "utf-8")
    (folder / "model.safetensors").write_bytes(weights)
    manifest = _manifest(file_digests(folder), len(weights))
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2), "utf-8")
    return manifest


def _manifest(files: dict[str, str], weight_bytes: int) -> Manifest:
    return Manifest(
        variant="bf16",
        backend="passthrough",
        base_repo="tiny",
        base_revision="0",
        base_digest="0" * 64,
        recipe="",
        recipe_text="",
        recipe_sha256="0" * 64,
        calibration_sha256=None,
        weight_bits=16,
        activation_bits=16,
        scheme="BF16",
        versions={},
        device="cpu",
        warnings=[],
        skipped_mappings=0,
        awq_error={},
        files=files,
        weights_digest=weights_digest(files),
        weight_bytes=weight_bytes,
        wall_s=0.0,
    )
