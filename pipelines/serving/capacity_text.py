"""Capacity, cost and offload as Markdown tables. Pure. A column holds numbers of one basis and says which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.reporting.text import table
from pipelines.serving import offload
from pipelines.serving.capacity import (
    GIB,
    Capacity,
    Card,
    Setting,
    Traffic,
    capacity,
    kv_bytes_per_token,
    tp_problems,
)
from pipelines.serving.cost import BASES, Throughput, fleet_mean, unit_cost, weight_memory_saving
from pipelines.serving.model_config import ModelConfig, WeightFormat, linear_parameters, parameters

TPS = (1, 2, 4, 8)
GB = 1e9


@dataclass(frozen=True)
class Served:
    """A model and how each of its variants stores its weights, under the names that are printed."""

    profile: str
    model: str
    config: ModelConfig
    formats: Mapping[str, WeightFormat]


@dataclass(frozen=True)
class Prices:
    """`per_hour` for one card; `load`: share of the throughput asked for; `counted`: which tokens it counts."""

    per_hour: float
    currency: str
    load: float
    counted: str


def title(served: Served) -> str:
    """One line: profile, model, its parameters."""
    return (
        f"profile {served.profile}, {served.model}: {parameters(served.config):,} parameters, "
        f"{linear_parameters(served.config):,} of them in the layers' matrices"
    )


def inputs_table(rows: Sequence[tuple[str, str]]) -> str:
    """What was put in, each with its value."""
    return table(["input", "value"], rows)


def setting_rows(setting: Setting, traffic: Traffic) -> list[tuple[str, str]]:
    """The setting, and what of the traffic lies in the cache all the time, as inputs."""
    card = setting.card
    rows = [
        ("card", f"{card.name}, {card.memory_bytes / GIB:.2f} GiB"),
        ("utilisation", f"{setting.utilisation:g}"),
        ("activations of a step", f"{setting.activation_bytes / GIB:.2f} GiB"),
        ("CUDA graphs", f"{setting.graph_bytes / GIB:.2f} GiB"),
        ("cards per replica (tensor parallel)", str(setting.tp)),
        ("KV cache", f"{setting.kv_dtype}, blocks of {setting.block_size} tokens"),
    ]
    if traffic.prefix_tokens:
        rows.append(("shared prefixes in the cache", f"{traffic.prefix_tokens:,} tokens"))
    return rows


def room_table(found: Sequence[Capacity], setting: Setting, measured: Mapping[str, int]) -> str:
    """Bytes and KV tokens per variant on each card, and the files' bytes where they were measured."""
    head = ["variant", "weights, GB (calculated)", "KV bytes per token (calculated)"]
    head += [f"{name} (calculated, {setting.card.name})" for name in ("KV room, GB", "KV tokens")]
    files = ["weight files, GB (measured)", "files over tensors, % (calculated)"] if measured else []
    rows = []
    for one in found:
        cells = [one.variant, f"{one.weight_bytes / GB:.2f}", f"{one.kv_bytes_per_token:,}"]
        cells += [f"{one.kv_room_bytes / GB:.2f}", f"{one.kv_tokens:,}"]
        if measured:
            size = measured[one.variant]
            cells += [f"{size / GB:.2f}", f"{100 * (size / one.weight_bytes - 1):.4f}"]
        rows.append(cells)
    return table([*head, *files], rows)


def sequences_table(found: Sequence[Capacity], setting: Setting, traffic: Traffic) -> str:
    """Complete requests at once, per statistic of the traffic and variant."""
    head = ["requests", "input", "output", "own tokens"]
    head += [f"{one.variant} (calculated, {setting.card.name})" for one in found]
    rows = [
        [
            length.statistic,
            *(f"{count:,}" for count in (length.input_tokens, length.output_tokens, length.own_tokens)),
            *(f"{one.sequences[length.statistic]:,}" for one in found),
        ]
        for length in traffic.lengths
    ]
    return table(head, rows)


def tp_table(served: Served, settings: Sequence[Setting]) -> str:
    """KV tokens of a replica, a row per number of cards, and what does not divide or fit there."""
    head = ["cards", *(f"KV tokens, {name} (calculated, {settings[0].card.name})" for name in served.formats)]
    rows = []
    for setting in settings:
        problems: list[str] = []
        cells = [str(setting.tp)]
        for name, stored in served.formats.items():
            tokens = capacity(name, served.config, stored, setting).kv_tokens
            found = tp_problems(served.config, stored, setting.tp)
            if not tokens:
                found.append(f"{name}: weights and reserves are larger than the engine's share of a card")
            problems += [problem for problem in found if problem not in problems]
            cells.append("–" if found else f"{tokens:,}")
        rows.append([*cells, "; ".join(problems) or "–"])
    return table([*head, "not possible because"], rows)


def price_rows(prices: Prices, serves: Mapping[str, str]) -> list[tuple[str, str]]:
    """The price, the load and who serves what, as inputs."""
    rows = [("price of one card for an hour", f"{prices.per_hour:g} {prices.currency}"), ("load", f"{prices.load:g}")]
    return [*rows, *((f"{scene} is served by", variant) for scene, variant in serves.items())]


def cost_tables(prices: Prices, throughputs: Mapping[str, Throughput], shares: Mapping[str, float]) -> list[str]:
    """A table per basis: cost per million tokens of each variant and, where all that serve have one, of the fleet."""
    found = []
    for basis in BASES:
        those = {name: one for name, one in throughputs.items() if one.basis == basis}
        if not those:
            continue
        costs = {name: unit_cost(prices.per_hour, one.tokens_per_s, prices.load) for name, one in those.items()}
        head = ["variant", "hardware", f"{prices.counted} tok/s per card ({basis})"]
        head.append(f"{prices.currency} per million {prices.counted} tokens (calculated from {basis})")
        rows = [[name, one.hardware, f"{one.tokens_per_s:,.1f}", f"{costs[name]:.2f}"] for name, one in those.items()]
        if shares.keys() <= costs.keys():
            rows.append(["fleet, by traffic", "", "", f"{fleet_mean(shares, costs):.2f}"])
        found.append(table(head, rows))
    return found


def fleet_table(weights: Mapping[str, int], shares: Mapping[str, float], baseline: str) -> str:
    """Weight bytes per variant, the traffic each serves, and the fleet's mean and saving."""
    rows = [[name, f"{100 * shares.get(name, 0):.1f} %", f"{size / GB:.2f}", ""] for name, size in weights.items()]
    saving = weight_memory_saving(shares, weights, baseline)
    rows.append(["fleet, by traffic", "", f"{fleet_mean(shares, weights) / GB:.2f}", f"{100 * saving:.1f} %"])
    return table(["variant", "traffic", "weights, GB (calculated)", f"saved against {baseline} (calculated)"], rows)


def offload_rows(card: Card, tp: int, sustained: float, question: offload.Question) -> list[tuple[str, str]]:
    """What the question puts in: the cards of a replica and the share of their peak, the prefix, the links."""
    return [
        ("cards", f"{tp} x {card.name}"),
        ("sustained in prefill", f"{sustained:g} of {card.peak_flops / 1e12:g} TFLOP/s each"),
        ("prefix", f"{question.tokens:,} tokens"),
        ("KV cache", question.kv_dtype),
        ("efficiency of links", f"{question.efficiency:g}"),
    ]


def break_even_table(config: ModelConfig, question: offload.Question, card: str) -> str:
    """What is moved, what is computed instead, and the bandwidth at which both take as long."""
    even = offload.break_even_bytes_per_s(config, question)
    rows = [
        ("KV bytes per token", f"{kv_bytes_per_token(config, question.kv_dtype):,}"),
        ("KV of the prefix", f"{offload.stored_bytes(config, question) / 1e6:,.1f} MB"),
        ("prefill", f"{offload.prefill_flops(config, question.tokens) / 1e12:,.1f} TFLOP"),
        ("break-even", f"{even / GB:.2f} GB/s ({8 * even / GB:.1f} Gb/s) arriving"),
    ]
    return table(["quantity", f"calculated, {card}"], rows)


def offload_table(config: ModelConfig, question: offload.Question, card: str) -> str:
    """Milliseconds to load the prefix over each link and to compute it again, and which is faster."""
    again = offload.recompute_s(config, question)
    rows = []
    for link in offload.LINKS:
        load = offload.load_s(config, question, link)
        rate = link.bytes_per_s / GB
        faster = "load" if load < again else "compute"
        rows.append([link.name, f"{rate:.2f}", f"{1000 * load:,.0f}", f"{1000 * again:,.0f}", faster])
    head = ["link", "line rate, GB/s", "load, ms (calculated)", f"compute again, ms (calculated, {card})", "faster"]
    return table(head, rows)
