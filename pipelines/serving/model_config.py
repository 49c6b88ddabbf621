"""What a model's config.json says of its tensors: names, shapes, and bytes in each number format. Dense decoders only.

The bytes are those of the checkpoint's tensors as llm-compressor writes them, without the headers of the files.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from evalsets.records import InputError, Record, explain
from quantize.preconditions import GROUP
from quantize.recipe import Recipe

Positive = Annotated[int, Field(ge=1)]
Shape = tuple[int, ...]
NARROW = 2  # bytes of a 16-bit number: what is not quantized, and every scale
WORD = 32  # bits of the words that 4-bit numbers are packed in
SHAPE_BYTES = 16  # a packed weight's own shape is stored beside it: two 64-bit numbers
SPLIT_OUTPUTS = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "embed_tokens", "lm_head")
SPLIT_INPUTS = ("o_proj", "down_proj")


class ModelConfig(Record):
    """The keys of config.json that settle shapes; names are the file's own. `dtype` is the base's number format."""

    architectures: Annotated[
        list[Literal["Qwen2ForCausalLM", "Qwen3ForCausalLM", "LlamaForCausalLM"]], Field(min_length=1, max_length=1)
    ]
    hidden_size: Positive
    intermediate_size: Positive
    num_hidden_layers: Positive
    num_attention_heads: Positive
    num_key_value_heads: Positive
    head_dim: Positive | None = None
    vocab_size: Positive
    max_position_embeddings: Positive
    tie_word_embeddings: bool
    attention_bias: bool = False
    mlp_bias: bool = False
    use_sliding_window: Literal[False] = False
    dtype: Literal["bfloat16", "float16"]

    @property
    def head_size(self) -> int:
        """Numbers in one head's key or value."""
        return self.head_dim or self.hidden_size // self.num_attention_heads


@dataclass(frozen=True)
class WeightFormat:
    """How linear weights are stored: `bits` each; `group` weights of a row share a scale (None: the whole row).

    `zero_points`: each scale has one, of `bits`. Modules on `ignore` (names, or `re:` and a pattern) stay in 16 bit, as
    do embeddings, norms and biases.
    """

    bits: int
    group: int | None = None
    zero_points: bool = False
    ignore: tuple[str, ...] = ()


def read_config(path: Path) -> ModelConfig:
    """The config at `path`; keys that settle no shape are passed over. Raises `InputError` naming file and key."""
    try:
        loaded = json.loads(path.read_text("utf-8"))
        known = {key: value for key, value in loaded.items() if key in ModelConfig.model_fields}
        return ModelConfig.model_validate({"dtype": loaded.get("torch_dtype")} | known)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the model's config.json (--config)") from None
    except (ValueError, AttributeError) as error:
        why = explain(error) if isinstance(error, ValidationError) else f"not a JSON object ({error})"
        raise InputError(f"{path}: {why}; only dense decoders with full attention can be calculated") from None


def weight_format(recipe: Recipe, group: int = GROUP) -> WeightFormat:
    """The format that a recipe's scheme stores. `group` is that of the W4A16 schemes."""
    four_bit = recipe.weight_bits == 4
    return WeightFormat(
        bits=recipe.weight_bits,
        group=group if four_bit else None,
        zero_points=four_bit and recipe.scheme.endswith("ASYM"),
        ignore=tuple(recipe.ignore),
    )


def tensors(config: ModelConfig) -> dict[str, Shape]:
    """Name and shape of every tensor of the base, as its checkpoint has them; matrices are [outputs, inputs]."""
    found: dict[str, Shape] = {"model.embed_tokens.weight": (config.vocab_size, config.hidden_size)}
    for layer in range(config.num_hidden_layers):
        found |= {f"model.layers.{layer}.{name}": shape for name, shape in _layer(config).items()}
    found["model.norm.weight"] = (config.hidden_size,)
    if not config.tie_word_embeddings:
        found["lm_head.weight"] = (config.vocab_size, config.hidden_size)
    return found


def weight_bytes(config: ModelConfig, stored: WeightFormat, tp: int = 1) -> int:
    """Bytes of all weights on each of `tp` cards (1: of the checkpoint). Key and value heads are copied beyond tp."""
    return sum(_bytes(name, _on_each(name, shape, config, tp), stored) for name, shape in tensors(config).items())


def parameters(config: ModelConfig) -> int:
    """Count of all parameters."""
    return sum(math.prod(shape) for shape in tensors(config).values())


def linear_parameters(config: ModelConfig) -> int:
    """Count of the weights in the layers' matrices: what every token is multiplied with. No lm_head, no embeddings."""
    return sum(math.prod(shape) for name, shape in tensors(config).items() if _is_linear(name, shape))


def _layer(config: ModelConfig) -> dict[str, Shape]:
    hidden, inner, head = config.hidden_size, config.intermediate_size, config.head_size
    queries, keys = config.num_attention_heads * head, config.num_key_value_heads * head
    family = config.architectures[0]
    attention = {"q_proj": (queries, hidden), "k_proj": (keys, hidden), "v_proj": (keys, hidden)}
    every = {f"self_attn.{name}": shape for name, shape in attention.items()} | {"self_attn.o_proj": (hidden, queries)}
    mlp = {"mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden), "mlp.down_proj": (hidden, inner)}
    found: dict[str, Shape] = {f"{name}.weight": shape for name, shape in {**every, **mlp}.items()}
    biased = list(mlp) if config.mlp_bias else []
    if family == "Qwen2ForCausalLM":
        biased += [f"self_attn.{name}" for name in attention]
    elif config.attention_bias:
        biased += list(every)
    found |= {f"{name}.bias": found[f"{name}.weight"][:1] for name in biased}
    if family == "Qwen3ForCausalLM":
        found |= {"self_attn.q_norm.weight": (head,), "self_attn.k_norm.weight": (head,)}
    return found | {"input_layernorm.weight": (hidden,), "post_attention_layernorm.weight": (hidden,)}


def _is_linear(name: str, shape: Shape) -> bool:
    return len(shape) == 2 and ".layers." in name


def _is_quantized(name: str, shape: Shape, ignore: Sequence[str]) -> bool:
    module = name.removesuffix(".weight")
    if len(shape) != 2 or module.endswith("embed_tokens"):
        return False
    return not any(re.match(rule[3:], module) if rule.startswith("re:") else rule == module for rule in ignore)


def _bytes(name: str, shape: Shape, stored: WeightFormat) -> int:
    if stored.bits == 16 or not _is_quantized(name, shape, stored.ignore):
        return NARROW * math.prod(shape)
    outputs, inputs = shape
    if stored.bits == 8:
        return outputs * inputs + NARROW * outputs
    groups = math.ceil(inputs / (stored.group or inputs))
    # Weights are packed along the inputs, zero points along the outputs.
    total = outputs * _packed(inputs, stored.bits) + NARROW * outputs * groups + SHAPE_BYTES
    return total + (_packed(outputs, stored.bits) * groups if stored.zero_points else 0)


def _packed(count: int, bits: int) -> int:
    return math.ceil(count * bits / WORD) * WORD // 8


def _on_each(name: str, shape: Shape, config: ModelConfig, tp: int) -> Shape:
    """The part of a tensor that one of `tp` cards holds."""
    module, kind = name.split(".")[-2:]
    if module in ("k_proj", "v_proj"):
        tp = min(tp, config.num_key_value_heads)
    if module in SPLIT_OUTPUTS:
        return (math.ceil(shape[0] / tp), *shape[1:])
    if module in SPLIT_INPUTS and kind == "weight":
        return (shape[0], math.ceil(shape[1] / tp))
    return shape
