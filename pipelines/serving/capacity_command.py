"""`capacity`, `cost` and `offload`: what fits on a card, what it costs, and when stored prefixes are worth loading."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.params import PARAMS
from pipelines.profiles import load_profile
from pipelines.reporting.text import joined
from pipelines.serving import capacity_inputs as inputs
from pipelines.serving import capacity_text as text
from pipelines.serving.capacity import CARDS, KV_BYTES, capacity
from pipelines.serving.cost import BASES, traffic_by_variant
from pipelines.serving.model_config import weight_bytes
from pipelines.serving.offload import Question
from quantize.manifest import MANIFEST, load_manifest

COUNTED = ("output", "prompt", "all")
CAPACITY = """\
Weight bytes, KV bytes per token, KV tokens and complete requests at once, per variant of a profile on one card, and
what tensor parallelism leaves. Calculated from config.json, recipes and the card; nothing is run."""
COST = """\
Price of a million tokens from the price of a card's hour and a throughput, whose basis is kept, and the weight memory
of a fleet that serves each scene by its own variant."""
OFFLOAD = "Milliseconds to load the keys and values of a known prefix over several links, against computing them again."


def add_to(commands: Any) -> None:
    """Add the three commands to a parser's subcommands; each sets `work`, which returns the exit code."""
    raw = argparse.RawDescriptionHelpFormatter
    _capacity_arguments(commands.add_parser("capacity", help="what fits", description=CAPACITY, formatter_class=raw))
    _cost_arguments(commands.add_parser("cost", help="what it costs", description=COST, formatter_class=raw))
    _offload_arguments(commands.add_parser("offload", help="load or compute again", description=OFFLOAD))


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", type=Path, default=PARAMS, metavar="FILE", help="default: the active profile")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="config.json of the model (default: the fetched one)"
    )
    parser.add_argument("--card", choices=sorted(CARDS), help="default for a profile with device cuda: a100-80g")
    parser.add_argument("--card-gib", type=_finite, metavar="X", help="another card: its memory as CUDA reports it")
    parser.add_argument("--card-tflops", type=_finite, metavar="X", help="another card: peak dense 16-bit TFLOP/s")
    parser.add_argument("--tp", type=int, metavar="N", help="cards per replica (default: the profile's flag, or 1)")
    parser.add_argument("--kv-dtype", choices=sorted(KV_BYTES), help="default: the profile's flag, or bf16")


def _capacity_arguments(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    add = parser.add_argument
    add("--input-tokens", type=int, metavar="N", help="tokens of a request (with --output-tokens)")
    add("--output-tokens", type=int, metavar="N", help="tokens of its answer")
    add("--shared-tokens", type=int, default=0, metavar="N", help="tokens of the input that all have in common")
    add("--lengths", type=Path, metavar="FILE", help="JSONL rows: input_tokens, output_tokens, shared_tokens")
    add("--prefixes", type=int, default=1, metavar="N", help="different shared prefixes in the cache (default 1)")
    add("--utilisation", type=_finite, metavar="X", help="the engine's share (default: the profile's flag, or 0.92)")
    add("--activation-gib", type=_finite, default=2.0, metavar="X", help="a step's activations (default 2)")
    add("--graph-gib", type=_finite, default=1.0, metavar="X", help="CUDA graphs (default 1)")
    add("--manifests", type=Path, metavar="FOLDER", help="checkpoints whose measured bytes stand beside")
    parser.set_defaults(work=_capacity)


def _cost_arguments(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    add = parser.add_argument
    add("--price", type=_finite, required=True, metavar="X", help="of one card for an hour")
    add("--currency", default="units", help="its name in the tables")
    add("--load", type=_finite, default=1.0, metavar="X", help="share of the throughput asked for (default 1)")
    add("--counted", choices=COUNTED, default="output", help="tokens that the throughput counts (default output)")
    form = "VARIANT=TOK/S:BASIS"
    add("--throughput", action="append", default=[], metavar=form, help=f"per card; basis: {', '.join(BASES)}")
    add("--serve", action="append", default=[], metavar="SCENE=VARIANT", help="default: the scene's first candidate")
    parser.set_defaults(work=_cost)


def _offload_arguments(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    add = parser.add_argument
    add("--tokens", type=int, required=True, metavar="N", help="length of the prefix")
    add("--sustained", type=_finite, default=0.5, metavar="X", help="share of the card's peak in prefill (default 0.5)")
    add(
        "--efficiency", type=_finite, default=0.8, metavar="X", help="share of a link's rate that arrives (default 0.8)"
    )
    parser.set_defaults(work=_offload)


def _capacity(given: argparse.Namespace) -> int:
    profile = load_profile(given.profile)
    served, setting = inputs.served(profile, given.config), inputs.setting(profile, given)
    traffic = inputs.traffic(given, setting.block_size)
    found = [capacity(name, served.config, stored, setting, traffic) for name, stored in served.formats.items()]
    folders = {one.variant: given.manifests / one.variant for one in found} if given.manifests else {}
    measured = {variant: load_manifest(folder / MANIFEST).weight_bytes for variant, folder in folders.items()}
    print(
        joined(
            text.title(served),
            text.inputs_table(text.setting_rows(setting, traffic)),
            text.room_table(found, setting, measured),
            text.sequences_table(found, setting, traffic) if traffic.lengths else "",
            text.tp_table(served, [replace(setting, tp=tp) for tp in sorted({*text.TPS, setting.tp})]),
        )
    )
    return 0


def _cost(given: argparse.Namespace) -> int:
    profile = load_profile(given.profile)
    served, card = inputs.served(profile, given.config), inputs.card(profile, given)
    serves = inputs.serving(profile, given.serve)
    shares = traffic_by_variant({name: scene.traffic_share for name, scene in profile.policy.scenes.items()}, serves)
    throughputs = dict(inputs.throughput(one, served.formats, card.name) for one in given.throughput)
    weights = {name: weight_bytes(served.config, stored) for name, stored in served.formats.items()}
    prices = text.Prices(given.price, given.currency, given.load, given.counted)
    print(
        joined(
            text.title(served),
            text.inputs_table(text.price_rows(prices, serves)),
            *text.cost_tables(prices, throughputs, shares),
            text.fleet_table(weights, shares, profile.policy.baseline),
        )
    )
    return 0


def _offload(given: argparse.Namespace) -> int:
    profile = load_profile(given.profile)
    served, card, tp = inputs.served(profile, given.config), inputs.card(profile, given), inputs.tp(profile, given)
    flops = card.peak_flops * given.sustained * tp
    question = Question(given.tokens, flops, given.efficiency, inputs.kv_dtype(profile, given))
    print(
        joined(
            text.title(served),
            text.inputs_table(text.offload_rows(card, tp, given.sustained, question)),
            text.break_even_table(served.config, question, card.name),
            text.offload_table(served.config, question, card.name),
        )
    )
    return 0


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text} is not finite")
    return value
