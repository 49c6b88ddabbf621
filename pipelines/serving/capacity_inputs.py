"""From a profile and the options of a command to what capacity, cost and offload are calculated from."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from evalsets.records import InputError, Record, read_rows
from pipelines.layout import Layout
from pipelines.profiles import Profile
from pipelines.serving.capacity import CARDS, GIB, Card, Request, Setting, Traffic, traffic_of
from pipelines.serving.capacity_text import Served
from pipelines.serving.cost import BASES, Throughput
from pipelines.serving.model_config import read_config, weight_format
from quantize.recipe import load_recipe

DATA = Path(__file__).parent / "data"


class RequestLength(Record):
    """One row of a `--lengths` file. The first `shared_tokens` of the input are a prefix that others have too."""

    input_tokens: int
    output_tokens: int
    shared_tokens: int = 0


def served(profile: Profile, config: Path | None) -> Served:
    """The profile's model and formats. Its config: the one given, else the fetched base's, else the one shipped."""
    name = profile.model.name
    fetched, shipped = Layout.of(profile.profile).base / "config.json", DATA / f"{name}.config.json"
    path = config or (fetched if fetched.exists() or not shipped.exists() else shipped)
    formats = {key: weight_format(load_recipe(Path(one.recipe))[0]) for key, one in profile.variants.items()}
    return Served(profile.profile, name, read_config(path), formats)


def card(profile: Profile, given: argparse.Namespace) -> Card:
    """The card given, else an A100 80G where the profile serves on CUDA. Raises `InputError` where neither holds."""
    if given.card_gib is not None or given.card_tflops is not None:
        if given.card_gib is None or given.card_tflops is None:
            raise InputError("--card-gib and --card-tflops go together: give both, or --card")
        return Card("given card", round(given.card_gib * GIB), given.card_tflops * 1e12)
    if given.card is None and profile.engine.device != "cuda":
        raise InputError(f"{given.profile}: serves on {profile.engine.device}; name the card to plan for (--card)")
    return CARDS[given.card or "a100-80g"]


def setting(profile: Profile, given: argparse.Namespace) -> Setting:
    """The engine's setting: options win over the profile's engine flags, and those over the defaults."""
    stated = _number(profile, "--gpu-memory-utilization", Setting.utilisation)
    return Setting(
        card=card(profile, given),
        utilisation=stated if given.utilisation is None else given.utilisation,
        activation_bytes=round(given.activation_gib * GIB),
        graph_bytes=round(given.graph_gib * GIB),
        tp=tp(profile, given),
        kv_dtype=kv_dtype(profile, given),
    )


def tp(profile: Profile, given: argparse.Namespace) -> int:
    """Cards per replica, at least 1."""
    cards = round(_number(profile, "--tensor-parallel-size", 1)) if given.tp is None else int(given.tp)
    if cards < 1:
        raise InputError(f"tp is {cards}; give at least one card per replica")
    return cards


def kv_dtype(profile: Profile, given: argparse.Namespace) -> str:
    """The cache's number format, `bf16` or `fp8`."""
    stated = _flag(profile, "--kv-cache-dtype") or ""
    return given.kv_dtype or ("fp8" if stated.startswith("fp8") else "bf16")


def traffic(given: argparse.Namespace, block_size: int) -> Traffic:
    """The requests given by `--lengths` or by the two token counts; without lengths where none are given."""
    if given.lengths:
        rows = read_rows(given.lengths, RequestLength)
        requests = [Request(row.input_tokens, row.output_tokens, row.shared_tokens) for row in rows]
        return traffic_of(requests, block_size, given.prefixes)
    if given.input_tokens is None and given.output_tokens is None:
        return Traffic(())
    if given.input_tokens is None or given.output_tokens is None:
        raise InputError("--input-tokens and --output-tokens go together: give both")
    request = Request(given.input_tokens, given.output_tokens, given.shared_tokens)
    return traffic_of([request], block_size, given.prefixes)


def throughput(given: str, variants: Iterable[str], hardware: str) -> tuple[str, Throughput]:
    """`VARIANT=TOK/S:BASIS` as the variant and its throughput per card."""
    variant, _, rest = given.partition("=")
    number, _, named = rest.partition(":")
    basis = next((one for one in BASES if one == named), None)
    names = list(variants)
    try:
        tokens_per_s = float(number)
    except ValueError:
        basis = None
    if variant not in names or basis is None:
        wanted = f"VARIANT=TOK/S:BASIS, a variant of {', '.join(names)} and a basis of {', '.join(BASES)}"
        raise InputError(f"--throughput {given}: give {wanted}")
    return variant, Throughput(tokens_per_s, basis, hardware)


def serving(profile: Profile, given: Iterable[str]) -> dict[str, str]:
    """The variant that serves each scene: its first candidate, unless `SCENE=VARIANT` names another."""
    serves = {name: scene.candidates[0] for name, scene in profile.policy.scenes.items()}
    for one in given:
        scene, _, variant = one.partition("=")
        if scene not in serves or variant not in profile.variants:
            known = f"{', '.join(serves)} and {', '.join(profile.variants)}"
            raise InputError(f"--serve {one}: give SCENE=VARIANT of {known}")
        serves[scene] = variant
    return serves


def _number(profile: Profile, name: str, default: float) -> float:
    stated = _flag(profile, name)
    try:
        return default if stated is None else float(stated)
    except ValueError:
        raise InputError(f"engine.flags: {name} {stated} is no number; correct the profile") from None


def _flag(profile: Profile, name: str) -> str | None:
    """The value of one of the profile's engine flags, written `--name value` or `--name=value`."""
    words = [word for flag in profile.engine.flags for word in flag.split("=", 1)]
    return words[words.index(name) + 1] if name in words[:-1] else None
