"""Is it faster to load the keys and values of a known prefix than to compute them again? Calculated, pure.

Loading moves bytes over a link; computing again takes the prefill's floating-point operations. The break-even is the
bandwidth at which both take as long. Queues, the time to the first byte, and overlap of loading with computing are left
out; on the other side, loading leaves the card free for others, which computing again does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalsets.records import InputError
from pipelines.serving.capacity import kv_bytes_per_token
from pipelines.serving.model_config import ModelConfig, linear_parameters


@dataclass(frozen=True)
class Link:
    """Where stored keys and values come from, and its line rate in bytes a second."""

    name: str
    bytes_per_s: float


LINKS = (
    Link("10 Gb/s Ethernet", 10e9 / 8),
    Link("25 Gb/s Ethernet", 25e9 / 8),
    Link("NVMe, PCIe 4.0 x4", 7e9),
    Link("100 Gb/s Ethernet", 100e9 / 8),
    Link("RDMA, 200 Gb/s", 200e9 / 8),
    Link("host memory, PCIe 4.0 x16", 31.5e9),
)


@dataclass(frozen=True)
class Question:
    """A prefix of `tokens`; the FLOP/s a replica's prefill sustains; the share (0 to 1) of a link's rate it gets."""

    tokens: int
    sustained_flops: float
    efficiency: float = 1.0
    kv_dtype: str = "bf16"

    def __post_init__(self) -> None:
        if self.tokens < 1 or self.sustained_flops <= 0 or not 0 < self.efficiency <= 1:
            raise InputError(
                f"tokens {self.tokens}, sustained {self.sustained_flops} FLOP/s, efficiency {self.efficiency}: give at "
                "least one token, FLOP/s above 0, and an efficiency above 0 and at most 1"
            )


def prefill_flops(config: ModelConfig, tokens: int, cached_tokens: int = 0) -> int:
    """Floating-point operations to prefill `tokens` that follow `cached_tokens` known ones.

    Two per weight and token in the layers' matrices; in attention four per layer, query head, head dimension and pair
    of a token with itself or one before it. lm_head (one token), norms and the softmax are left out: a lower bound.
    """
    pairs = tokens * cached_tokens + tokens * (tokens + 1) // 2
    width = config.num_attention_heads * config.head_size
    return 2 * linear_parameters(config) * tokens + 4 * config.num_hidden_layers * width * pairs


def decode_flops(config: ModelConfig) -> int:
    """Floating-point operations per output token: layers' matrices and lm_head, without attention; a lower bound."""
    return 2 * (linear_parameters(config) + config.vocab_size * config.hidden_size)


def recompute_s(config: ModelConfig, question: Question) -> float:
    """Seconds of prefill for the prefix."""
    return prefill_flops(config, question.tokens) / question.sustained_flops


def stored_bytes(config: ModelConfig, question: Question) -> int:
    """Bytes of the prefix's keys and values."""
    return question.tokens * kv_bytes_per_token(config, question.kv_dtype)


def load_s(config: ModelConfig, question: Question, link: Link) -> float:
    """Seconds to load them over `link`."""
    return stored_bytes(config, question) / (link.bytes_per_s * question.efficiency)


def break_even_bytes_per_s(config: ModelConfig, question: Question) -> float:
    """Bytes a second that must arrive for loading to take as long as computing again."""
    return stored_bytes(config, question) / recompute_s(config, question)
