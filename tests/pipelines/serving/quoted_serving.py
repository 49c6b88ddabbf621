"""Quoted figures of prefix caching, memory, batching, cost and offloading, beside the arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace

from scipy.optimize import brentq

from pipelines.serving.capacity import GIB
from pipelines.serving.cost import unit_cost, unit_cost_change
from pipelines.serving.model_config import linear_parameters, parameters
from pipelines.serving.offload import decode_flops, prefill_flops
from tests.pipelines.serving.quoted_case import (
    AFTER,
    BEFORE,
    CARD,
    CONFIG,
    FULL,
    INPUT,
    KV,
    OUTPUT,
    PEAK,
    POOL_BYTES,
    SETTING,
    SHARED,
    SYSTEM,
    TESTED_OUTPUT,
    Row,
    gb,
    of,
    own_tokens,
    percent,
    tested,
)

TTFT_BUCKETS_S = (1.0, 2.5, 5.0)  # the engine's default bounds from 1 to 5 seconds
LONG = 12_000
HIT = SHARED / INPUT  # at most, of the prompt's tokens


def inputs() -> list[tuple[str, str, str]]:
    """What everything is calculated from besides the model's config, and where it comes from."""
    reserve = (SETTING.activation_bytes + SETTING.graph_bytes) / GIB
    return [
        ("memory of an 80 GB card", f"{CARD.memory_bytes / GIB:.2f} GiB, {gb(CARD.memory_bytes)}", "PyTorch's report"),
        ("peak, dense, bf16", f"{PEAK / 1e12:.0f} TFLOP/s", "the card's data sheet"),
        ("the engine's share of the memory", f"{SETTING.utilisation}", "the engine's default"),
        ("activations and CUDA graphs", f"{reserve:.0f} GiB", "assumed"),
        ("blocks of the KV cache", f"{SETTING.block_size} tokens", "the engine's default"),
    ]


def model() -> list[Row]:
    """The model on the card."""
    order = ("bf16", "fp8", "awq-int4")
    linear = f"{linear_parameters(CONFIG):,} in the layers' matrices"
    return [
        ("parameters", "–", f"{parameters(CONFIG):,}; {linear}", "–"),
        ("weights, bf16 / FP8 / INT4", "–", " / ".join(gb(of(name).weight_bytes) for name in order), "–"),
        ("KV bytes per token", "–", f"{KV:,}", "–"),
        ("KV tokens, bf16 / FP8 / INT4", "–", " / ".join(f"{of(name).kv_tokens:,}" for name in order), "–"),
    ]


def after_the_first(per_minute: float) -> float:
    """Share of requests that are not the first of their minute, Poisson arrivals: 1 - (1 - exp(-n)) / n."""
    return 1 + math.expm1(-per_minute) / per_minute


def rate_for(share: float) -> float:
    """Requests a minute at which `share` of them are not the first of their minute."""
    return float(brentq(lambda per_minute: after_the_first(per_minute) - share, 1e-6, 1e4))


def prefix() -> list[Row]:
    """Hit rates, and what a stamp to the minute at the head of a prompt does to them."""
    stamped = "hit rate under a minute stamp"
    verdicts = {
        ("before", "0.3 %", 0.003): "the stamp alone does not explain it, unless traffic is that thin",
        ("multi-turn", "34 %", 0.34): "explained: turns follow each other about a minute apart",
        ("single-turn", "92 %", 0.92): "reached even with a stamp where requests are that dense",
    }
    return [
        (
            "hit rate, single-turn",
            "92 %",
            f"at most {percent(HIT)} of the prompt's tokens, {percent(SHARED / SYSTEM)} of the system prompt's",
            "it counts requests or system prompts, not prompt tokens",
        ),
        (
            "requests that share a long prefix",
            "84.7 %",
            f"{percent(0.847 * HIT)} of the prompt's tokens",
            "to expect if turns reuse nothing of each other",
        ),
        *(
            (
                f"{stamped}, {name}",
                quoted,
                f"reached at {rate_for(share):.3g} requests a minute, prefix and replica",
                so,
            )
            for (name, quoted, share), so in verdicts.items()
        ),
    ]


def memory() -> list[Row]:
    """What lies on the card."""
    weights = of("bf16").weight_bytes
    held = 0.81 * CARD.memory_bytes
    used = 16 * FULL * KV
    return [
        (
            "KV pool beside the bf16 weights",
            "24 GB",
            f"{gb(POOL_BYTES + weights)} of {gb(CARD.memory_bytes)}; there is room for {gb(of('bf16').kv_room_bytes)}",
            "does not fit on one card",
        ),
        (
            "memory held",
            "81 %",
            f"{gb(held)}, {gb(held - weights)} more than the weights; of 80 GB {gb(0.81 * 80e9)}, less than them",
            "leaves no room for such a pool on one card",
        ),
        (
            "pool used at 16 requests at once",
            "30 %",
            f"{percent(used / POOL_BYTES, 0)}: {gb(used)}; 30 % is {0.3 * POOL_BYTES / KV / FULL:.1f} requests",
            "the two do not belong together on one card",
        ),
    ]


def batching() -> list[Row]:
    """Limits on sequences and on batched tokens."""
    fits = f"{tested('bf16')} (bf16), {tested('fp8')} (FP8), {tested('awq-int4')} (INT4)"
    shared = f"{gb(320 * own_tokens() * KV)} with the prefix shared"
    room = f"INT4 has {gb(of('awq-int4').kv_room_bytes)}, for {of('awq-int4').sequences['mean']}"
    peak_s = prefill_flops(CONFIG, LONG) / PEAK
    busy = flops_per_s(1090, TESTED_OUTPUT, INPUT * (1 - HIT)) / PEAK
    bounds = ", ".join(f"{bound:g}" for bound in TTFT_BUCKETS_S)
    return [
        (
            "throughput saturates at",
            "16 requests",
            f"KV room for {fits} of {FULL:,} tokens",
            "further requests wait for KV room; smaller weights give more of it",
        ),
        (
            "max-num-seqs chosen",
            "320",
            f"{gb(320 * FULL * KV)} of KV, {shared}; {room}",
            "a limit that is never reached: KV room decides",
        ),
        (
            "output tok/s at it",
            "1,090",
            f"{percent(busy, 0)} of the card's peak, with {percent(HIT)} of the prompt's tokens cached",
            "not possible at that hit rate, if only output tokens count",
        ),
        (
            f"chunks of {LONG:,} tokens, budget 8,192",
            "8",
            f"{math.ceil(LONG / 8192)}; 8 take {math.ceil(LONG / 8):,} to {math.ceil(LONG / 7) - 1:,} tokens a step",
            "corrected, unless a threshold for long prefills was set too",
        ),
        (
            f"prefill of {LONG:,} tokens",
            "2,480 and 2,610 ms",
            f"at least {1000 * peak_s:,.0f} ms; "
            f"theirs is {percent(peak_s / 2.48, 0)} and {percent(peak_s / 2.61, 0)} of the peak",
            "not possible on one card",
        ),
        (
            "P99 TTFT",
            "1,420, 1,610, 4,120 ms",
            f"the engine's default buckets end at {bounds} s",
            "the first two lie in one bucket; only clients' samples tell them apart",
        ),
    ]


def together() -> list[Row]:
    """Throughput and cost of all steps."""
    price = 416_000 / (8 * 30 * 24)
    before = flops_per_s(BEFORE, TESTED_OUTPUT, INPUT)
    after = flops_per_s(AFTER, OUTPUT, INPUT * (1 - HIT))
    return [
        ("tok/s per card", "240 to 1,180, five times", f"{AFTER / BEFORE:.2f} times", "reproduced"),
        (
            "unit cost",
            "-71 %",
            f"{percent(unit_cost_change(BEFORE, AFTER))} at an equal price; -71 % is {BEFORE / 0.29:,.0f} tok/s, "
            f"or a price {0.29 * AFTER / BEFORE:.2f} times as high",
            "corrected",
        ),
        (
            "output tok/s, nothing cached",
            "240",
            f"{before / 1e12:.0f} TFLOP/s, {percent(before / PEAK, 0)} of the peak",
            "possible",
        ),
        (
            f"output tok/s, {percent(HIT)} of the prompt's tokens cached",
            "1,180",
            f"{after / 1e12:.0f} TFLOP/s, {percent(after / PEAK, 0)} of the peak; the peak takes a token hit rate of "
            f"{percent(hit_needed(1.0), 0)}, half the peak {percent(hit_needed(0.5), 0)}",
            "not possible at that hit rate, if only output tokens count",
        ),
        (
            "tok/s, prompt and output together",
            "1,180",
            f"{AFTER * OUTPUT / (INPUT + OUTPUT):.0f} output tok/s",
            "possible; it must be said which tokens count",
        ),
        (
            "bill of a month (30 days), 8 cards",
            "416,000 yuan",
            f"{price:.2f} yuan per card and hour; {unit_cost(price, BEFORE):.2f} yuan per million tokens at 240 tok/s",
            "if no hour was idle",
        ),
        ("GPU utilisation, mean", "31 %", "–", "cannot be checked: no counter and no load are named"),
    ]


def flops_per_s(output_per_s: float, output: int, computed_prompt: float) -> float:
    """FLOP/s at so many output tokens a second if each request of `output` tokens computes so much of its prompt.

    A lower bound: attention to earlier tokens is left out.
    """
    return output_per_s / output * prefill_flops(CONFIG, 1) * computed_prompt + output_per_s * decode_flops(CONFIG)


def hit_needed(share_of_peak: float) -> float:
    """The share of prompt tokens that must be cached for 1,180 output tok/s at a share of the card's peak."""
    left = share_of_peak * PEAK - AFTER * decode_flops(CONFIG)
    return 1 - left / (AFTER / OUTPUT * prefill_flops(CONFIG, 1)) / INPUT


def offloading() -> list[Row]:
    """Keys and values over a network, against computing them again."""
    stored, again = INPUT * KV, prefill_flops(CONFIG, INPUT) / PEAK
    rate, even = 480e6 / 0.34, stored / again
    return [
        (f"KV of {INPUT:,} tokens", "480 MB", f"{stored / 1e6:.0f} MB", "corrected"),
        (
            "over the network",
            "340 ms",
            f"{1000 * stored / rate:.0f} ms at the rate implied, {rate / 1e9:.2f} GB/s",
            "corrected",
        ),
        (
            "computed again",
            "210 ms",
            f"at least {1000 * again:.0f} ms; theirs is {again / 0.21:.1f} times the peak",
            "not possible on one card",
        ),
        (
            "worth it",
            "no",
            f"from {even / 1e9:.2f} GB/s ({8 * even / 1e9:.1f} Gb/s) on at the peak, {even / 2e9:.2f} at half of it",
            "worth it on paper",
        ),
    ]


def two_cards() -> list[Row]:
    """Which of these would hold if a replica had two cards; whether it had is not known."""
    two = of("bf16", replace(SETTING, tp=2))
    long_s, again_s = (prefill_flops(CONFIG, tokens) / (2 * PEAK) for tokens in (LONG, INPUT))
    kv = two.kv_bytes_per_token
    fits = f"{gb(two.weight_bytes + POOL_BYTES)} of {gb(CARD.memory_bytes)}"
    return [
        ("KV pool beside the bf16 weights, each card", "24 GB", fits, "fits"),
        ("pool used at 16 requests at once", "30 %", percent(16 * FULL * kv / POOL_BYTES), "agrees"),
        (
            f"prefill of {LONG:,} tokens",
            "2,480 ms",
            f"at least {1000 * long_s:,.0f} ms; theirs is {percent(long_s / 2.48, 0)} of the peak",
            "possible",
        ),
        (
            "throughput saturates at",
            "16 requests",
            f"such a pool holds {math.floor(POOL_BYTES / kv / FULL)}",
            "then KV room is not why",
        ),
        ("max-num-seqs chosen", "320", f"{gb(320 * FULL * kv)} of KV on each card", "still never reached"),
        ("computed again", "210 ms", f"at least {1000 * again_s:.0f} ms", "still not possible"),
        (
            "output tok/s per card",
            "1,180",
            f"{percent(flops_per_s(AFTER, OUTPUT, INPUT * (1 - HIT)) / PEAK, 0)} of the peak, as before",
            "still not possible",
        ),
    ]
