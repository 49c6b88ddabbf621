"""Builds a tiny random Qwen2 with tokenizer and chat template. Runs in the llmcompressor environment.

`python tiny_model.py TARGET`. Weights are drawn wide enough that answers vary, no wider: bf16 noise must stay small.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import pre_tokenizers
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2Tokenizer

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = """{%- if tools %}{{- '<|im_start|>system\n# Tools' }}
{%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{%- endfor %}{{- '<|im_end|>\n' }}{%- endif %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\n' }}
    {%- if message.content %}{{- message.content }}{%- endif %}
    {%- for call in message.tool_calls or [] %}
        {{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
        {{- call.function.arguments | tojson }}{{- '}\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
"""


def build(target: Path) -> None:
    """Save model, tokenizer and template to `target`."""
    # Bytes only. The class matters: engines split text as Qwen2 does, whatever tokenizer.json says.
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *letters])}
    fast = Qwen2Tokenizer(vocab=vocabulary, merges=[], eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    fast.chat_template = TEMPLATE
    torch.manual_seed(11)
    config = Qwen2Config(
        vocab_size=512,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        tie_word_embeddings=False,
        initializer_range=0.1,
        # Not the default: a reader that loses it must be found out.
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        bos_token_id=None,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
        dtype="bfloat16",
    )
    model = Qwen2ForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(target)
    fast.save_pretrained(target)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
