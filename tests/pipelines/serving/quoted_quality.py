"""Quoted figures of accuracy, scenes, validators and guardrails, beside the arithmetic."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import norm

from pipelines.serving.cost import fleet_mean, weight_memory_saving
from registry.gate.power import items_needed, smallest_margin
from registry.gate.tango import bounds
from tests.pipelines.serving.quoted_case import (
    FULL,
    INPUT,
    POOL_BYTES,
    SHARE,
    SHARED,
    Row,
    of,
    own_tokens,
    percent,
    tested,
)

QA, TOOLS = 640, 180
ALPHA = 0.05
PSI = 0.04  # the share of items on which two variants disagree is not published
DAYS = 30
RISE = 0.005
COMPLAINT_RATE = 0.02  # nor is this one


def interval(losses: float, gains: float, n: int) -> str:
    """The two-sided 95 % interval of the loss in percentage points."""
    lower, upper = bounds(losses, gains, n, ALPHA / 2)
    return f"{-100 * upper:.1f} to {-100 * lower:.1f} pp"


def quantization() -> list[Row]:
    """Losses on 640 questions and 180 tool calls."""
    drop, disagree = 0.003, PSI * TOOLS
    fp8 = interval((disagree + drop * TOOLS) / 2, (disagree - drop * TOOLS) / 2, TOOLS)
    double = 1e-7 / math.ulp(12900.0)
    single = 1e-7 / float(np.spacing(np.float32(12900)))
    return [
        _loss("questions", QA, 15, "2.3 pp", (0, 5, 25)),
        _loss("tool calls", TOOLS, 10, "5.5 pp", (0, 2, 8)),
        (
            f"FP8 loses on {TOOLS} tool calls",
            "0.3 pp",
            f"{drop * TOOLS:.2f} of a call; 95 % interval {fp8} if {percent(PSI, 0)} of the answers differ; "
            f"a margin of that size takes {items_needed(drop, ALPHA, PSI):,} items",
            "noise, and no count of one run",
        ),
        (
            "12900.0000001 for 12900",
            "11 times",
            f"{percent(11 / TOOLS)} of {TOOLS} calls; away by {double:,.0f} steps of a double, {single:.4f} of a float",
            "more than the loss in all, if all were among these calls; written by the model, not by rounding",
        ),
    ]


def _loss(what: str, n: int, net: int, quoted: str, gains: tuple[int, ...]) -> Row:
    spans = ", ".join(f"{interval(net + gained, gained, n)} ({gained} gained)" for gained in gains)
    margin = 100 * smallest_margin(n, ALPHA, PSI)
    return (
        f"INT4 loses on {n} {what}",
        quoted,
        f"{net} items are {100 * net / n:.2f} pp, 95 % interval {spans}; "
        f"an equal variant passes a margin of {margin:.1f} pp in 80 % of runs "
        f"if {percent(PSI, 0)} of the answers differ",
        "a loss, unless many were gained too: both counts must be told",
    )


def scenes() -> list[Row]:
    """A fleet of 61 % INT4, 35 % FP8, 4 % bf16."""
    weights = {variant: of(variant).weight_bytes for variant in SHARE}
    beside = {variant: round(size + POOL_BYTES) for variant, size in weights.items()}
    mean = fleet_mean(SHARE, weights) / 1e9
    qa, tools = SHARE["awq-int4"] * 2.3, SHARE["fp8"] * 0.3
    return [
        (
            "fleet memory, 61 / 35 / 4 % of the traffic",
            "-42 %",
            f"weights {percent(-weight_memory_saving(SHARE, weights, 'bf16'))}, {mean:.1f} GB in the mean; "
            f"{percent(-weight_memory_saving(SHARE, beside, 'bf16'))} with 24 GB of KV beside each copy",
            "corrected; memory held falls by nothing, since an engine takes the same share of every card",
        ),
        (
            "traffic-weighted accuracy",
            "88.5 %, -0.9 pp",
            f"0.61 x 2.3 is {qa:.2f} pp, with 0.35 x 0.3 {qa + tools:.2f} pp: {88.5 + 0.9 - qa - tools:.1f} %",
            "corrected by the quoted losses themselves",
        ),
    ]


def pits() -> list[Row]:
    """What went wrong, and how often."""
    storm = INPUT / (INPUT - SHARED)
    others = (of("bf16").kv_tokens - SHARED) // own_tokens()
    tenant = 1 - (1 - 0.12) ** (1 / others)
    free = {name: 0.2 * of(name).kv_tokens for name in ("bf16", "awq-int4")}
    kept = ", ".join(f"{math.floor(tokens):,} tokens ({name})" for name, tokens in free.items())
    requests = " and ".join(str(math.floor(tokens / FULL)) for tokens in free.values())
    return [
        (
            "all caches emptied by a prompt's release",
            "OOM, three times",
            f"{storm:.2f} times the prefill; the KV pool is allocated at the start",
            "preemption and queueing, not OOM",
        ),
        ("a prompt's release begins with", "5 %", f"{percent(0.05 * (storm - 1))} more prefill", "a sound remedy"),
        (
            "pool kept free",
            "20 %",
            f"{kept}: {requests} requests of {FULL:,}, out of {tested('bf16')} and {tested('awq-int4')}",
            "a sound remedy; dear in bf16",
        ),
        (
            "hit rate of small tenants",
            "12 %",
            f"in bf16 a prefix outlasts {others} requests of others; "
            f"a tenant with {percent(tenant, 2)} of the traffic gets this rate",
            "plausible, if the least recently used goes first",
        ),
        *_validator(0.0004, 0.009, 0.0011),
    ]


def _validator(before: float, after: float, relaxed: float) -> list[Row]:
    unseen = f"{percent((1 - before) ** TOOLS)} and {percent((1 - after) ** TOOLS)} of runs"
    needed = math.ceil(math.log(ALPHA) / math.log1p(-before))
    return [
        (
            "a strict validator fails, before and after INT4",
            "0.04 %, 0.9 %",
            f"{after / before:.1f} times; {TOOLS} calls show no failure in {unseen}; "
            f"to show the first takes {needed:,} calls without one",
            "a suite of this size cannot see it: count in production",
        ),
        (
            "after relaxing it",
            "0.11 %",
            f"{100 * (after - relaxed):.2f} pp, {percent((after - relaxed) / after, 0)} of the failures, pass unmended",
            "count strict and tolerant apart",
        ),
    ]


def guardrail() -> list[Row]:
    """How often a daily rule on complaints lowers the share of a variant that is equal."""
    rows = []
    for sessions in (1_000, 5_000, 20_000):
        spread = math.sqrt(2 * COMPLAINT_RATE * (1 - COMPLAINT_RATE) / sessions)
        daily = float(norm.sf(RISE / spread))
        month = 1 - (1 - daily) ** DAYS
        rows.append(
            (
                f"rise of complaints, if {percent(COMPLAINT_RATE, 0)} of {sessions:,} sessions a day complain",
                "0.5 pp",
                f"false alarm on {percent(daily, 2)} of days, within {DAYS} days in {percent(month)}",
                "no rule" if month > 0.05 else "a rule, at this traffic",
            )
        )
    return rows
