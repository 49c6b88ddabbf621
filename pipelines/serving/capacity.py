"""How many tokens and requests fit on a card beside the weights: calculated from config, recipe and card. Pure.

The engine takes `utilisation` of the card's memory; weights, the activations of one step and the CUDA graphs go off
first, and the rest becomes KV blocks. Activations and graphs depend on engine and batch: they are inputs here, and the
engine's start-up log states what it measured ("Available KV cache memory").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evalsets.records import InputError
from pipelines.serving.model_config import ModelConfig, WeightFormat, weight_bytes

GIB = 2**30
KV_BYTES = {"bf16": 2, "fp8": 1}  # bytes of one number in the cache; FP8's scales are per tensor, hence nothing
QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class Card:
    """A card: memory in bytes as CUDA reports it, and peak dense 16-bit FLOP/s by its data sheet."""

    name: str
    memory_bytes: int
    peak_flops: float


# 79.25 GiB is what PyTorch reports of an "80 GB" card; the driver keeps the rest.
CARDS = {"a100-80g": Card("A100 80G", round(79.25 * GIB), 312e12)}


@dataclass(frozen=True)
class Setting:
    """How an engine serves on `tp` cards. `utilisation` is a share (0 to 1), the two reserves are bytes per card."""

    card: Card
    utilisation: float = 0.92
    activation_bytes: int = 2 * GIB
    graph_bytes: int = GIB
    tp: int = 1
    kv_dtype: str = "bf16"
    block_size: int = 16

    def __post_init__(self) -> None:
        if not 0 < self.utilisation <= 1:
            raise InputError(f"utilisation is {self.utilisation}; give a share above 0 and at most 1")
        if self.kv_dtype not in KV_BYTES:
            raise InputError(f"KV dtype {self.kv_dtype!r} is unknown; allowed: {', '.join(KV_BYTES)}")
        if min(self.tp, self.block_size) < 1 or min(self.activation_bytes, self.graph_bytes) < 0:
            raise InputError("tp and block size must be at least 1, and reserves at least 0")


@dataclass(frozen=True)
class Request:
    """Tokens of one request; the first `shared_tokens` of the input are a prefix that the card holds once for all."""

    input_tokens: int
    output_tokens: int
    shared_tokens: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.shared_tokens <= self.input_tokens or self.output_tokens < 0:
            raise InputError(
                f"input {self.input_tokens}, output {self.output_tokens}, shared {self.shared_tokens}: counts are 0 or "
                "more, and what is shared is a part of the input"
            )

    def own_tokens(self, block_size: int) -> int:
        """Tokens that only this request holds when it is complete. Whole blocks alone are shared."""
        return self.input_tokens - self.shared_tokens // block_size * block_size + self.output_tokens


@dataclass(frozen=True)
class Length:
    """One statistic ("mean", "p95") of the requests; `own_tokens` is that of the sums, not a sum of statistics."""

    statistic: str
    input_tokens: int
    output_tokens: int
    own_tokens: int


@dataclass(frozen=True)
class Traffic:
    """Requests as statistics, and the tokens of shared prefixes that lie in the cache all the time."""

    lengths: Sequence[Length]
    prefix_tokens: int = 0


@dataclass(frozen=True)
class Capacity:
    """What one variant leaves room for on each card. `sequences` counts complete requests, by statistic."""

    variant: str
    weight_bytes: int
    kv_room_bytes: int
    kv_bytes_per_token: int
    kv_tokens: int
    sequences: Mapping[str, int] = field(default_factory=dict)


def kv_bytes_per_token(config: ModelConfig, kv_dtype: str = "bf16", tp: int = 1) -> int:
    """Bytes of keys and values of one token over all layers, on each of `tp` cards; each holds one head or more."""
    heads = max(1, math.ceil(config.num_key_value_heads / tp))
    return 2 * config.num_hidden_layers * heads * config.head_size * KV_BYTES[kv_dtype]


def kv_room_bytes(setting: Setting, weights: int) -> int:
    """Bytes left for keys and values on each card beside `weights` bytes; 0 where they do not fit."""
    taken = weights + setting.activation_bytes + setting.graph_bytes
    return max(0, math.floor(setting.card.memory_bytes * setting.utilisation) - taken)


def kv_tokens(room_bytes: int, bytes_per_token: int, block_size: int) -> int:
    """Tokens in the whole blocks that fit into `room_bytes`."""
    return room_bytes // (bytes_per_token * block_size) * block_size


def sequences(tokens: int, own_tokens: int, prefix_tokens: int, block_size: int) -> int:
    """Requests of `own_tokens` that fit at once into `tokens` beside the prefixes; a sequence takes whole blocks."""
    blocks = tokens // block_size - math.ceil(prefix_tokens / block_size)
    return max(0, blocks // max(1, math.ceil(own_tokens / block_size)))


def capacity(
    variant: str, config: ModelConfig, stored: WeightFormat, setting: Setting, traffic: Traffic = Traffic(())
) -> Capacity:
    """What `variant` leaves room for under `setting`."""
    weights = weight_bytes(config, stored, setting.tp)
    per_token = kv_bytes_per_token(config, setting.kv_dtype, setting.tp)
    room = kv_room_bytes(setting, weights)
    tokens = kv_tokens(room, per_token, setting.block_size)
    fitting = {
        length.statistic: sequences(tokens, length.own_tokens, traffic.prefix_tokens, setting.block_size)
        for length in traffic.lengths
    }
    return Capacity(variant, weights, room, per_token, tokens, fitting)


def traffic_of(requests: Sequence[Request], block_size: int, prefixes: int = 1) -> Traffic:
    """Mean (rounded up), p50, p95 and p99 of at least one request; quantiles are values that occur (nearest rank).

    `prefixes` different prefixes, each as long as the longest shared one, are taken to lie in the cache.
    """
    if not requests or prefixes < 0:
        raise InputError(
            f"{len(requests)} requests, {prefixes} prefixes; give at least one request, and 0 or more prefixes"
        )
    columns = (
        [request.input_tokens for request in requests],
        [request.output_tokens for request in requests],
        [request.own_tokens(block_size) for request in requests],
    )
    lengths = [Length("mean", *(math.ceil(sum(column) / len(column)) for column in columns))]
    if len(requests) > 1:
        lengths += [Length(name, *(_quantile(column, q) for column in columns)) for name, q in QUANTILES.items()]
    longest = max(request.shared_tokens for request in requests)
    return Traffic(lengths, prefixes * (longest // block_size * block_size))


def tp_problems(config: ModelConfig, stored: WeightFormat, tp: int) -> list[str]:
    """One line per size that `tp` cards cannot share evenly, or that leaves no whole groups; empty when all fit."""
    found = []
    if config.num_attention_heads % tp:
        found.append(f"num_attention_heads {config.num_attention_heads} / {tp} is not whole")
    if config.num_key_value_heads % tp and tp % config.num_key_value_heads:
        found.append(f"num_key_value_heads {config.num_key_value_heads} and {tp} do not divide each other")
    if config.intermediate_size % tp:
        found.append(f"intermediate_size {config.intermediate_size} / {tp} is not whole")
    if stored.group:
        # Groups run along the inputs, which the two matrices behind a split give away in parts.
        inputs = {
            "hidden_size": (config.hidden_size, 1),
            "intermediate_size": (config.intermediate_size, tp),
            "num_attention_heads * head_dim": (config.num_attention_heads * config.head_size, tp),
        }
        found += [
            f"{name} {size} / {parts} is not a multiple of the group size {stored.group}"
            for name, (size, parts) in inputs.items()
            if size % (parts * stored.group)
        ]
    return found


def _quantile(values: Sequence[int], share: float) -> int:
    return sorted(values)[math.ceil(share * len(values)) - 1]
