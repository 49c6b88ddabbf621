"""Memory that each step holds at once, and what serving leaves for keys and values. Pure.

Sizes of weights and of the cache are those of `pipelines.serving`; what quantizing wants is `quantize.preconditions`'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pipelines.params import Calibration
from pipelines.planning.material import Material
from pipelines.planning.records import Amount, Room, StepMemory
from pipelines.serving.capacity import (
    GIB,
    Capacity,
    Length,
    Traffic,
    capacity,
    kv_bytes_per_token,
    kv_tokens,
    sequences,
)
from pipelines.serving.cost import Basis
from pipelines.serving.model_config import NARROW, ModelConfig, tensors, weight_bytes
from quantize.preconditions import HEADROOM

SHARD_BYTES = 5 * 10**9  # the largest file that model savers have written for years
KV_SPACE = "VLLM_CPU_KVCACHE_SPACE"
CPU_BLOCK = 128  # tokens of a block in vLLM's CPU build, as its engine records state


def awq_cache_bytes(config: ModelConfig, calibration: Calibration) -> int:
    """Bytes that AWQ keeps of one tensor as wide as the model: samples x tokens x hidden size, in 16 bit, at most."""
    return calibration.samples * calibration.max_tokens * config.hidden_size * NARROW


def awq_layer_bytes(config: ModelConfig, calibration: Calibration) -> int:
    """Bytes of one layer in 16 bit and of the inputs kept for it: of attention, of the MLP, and of its down projection.

    A lower bound of what the accelerator holds: the search's own outputs come on top.
    """
    layer = sum(math.prod(shape) for name, shape in tensors(config).items() if name.startswith("model.layers.0."))
    inputs = 2 * config.hidden_size + config.intermediate_size
    return NARROW * (layer + calibration.samples * calibration.max_tokens * inputs)


def steps(material: Material, base: Amount) -> list[StepMemory]:
    """Fetch, every quantization and every variant's serving, in the profile's order."""
    found = [StepMemory(step="fetch", note="files are streamed")]
    found += [_quantize(material, name, base) for name in material.recipes]
    return found + [_serve(material, name) for name in material.recipes]


def rooms(material: Material, lengths: Sequence[Length]) -> list[Room]:
    """Every variant as it is served, with how many requests of each length it holds complete at once."""
    found = [one for name in material.recipes if (one := _capacity(material, name, lengths)) is not None]
    return [
        Room(
            variant=one.variant,
            weight_bytes=_calculated(one.weight_bytes),
            kv_room_bytes=_calculated(one.kv_room_bytes),
            kv_bytes_per_token=_calculated(one.kv_bytes_per_token),
            kv_tokens=_calculated(one.kv_tokens),
            sequences={
                kind: Amount(value=count, basis=_basis(material, kind)) for kind, count in one.sequences.items()
            },
        )
        for one in found
    ]


def kv_space_bytes(material: Material) -> int | None:
    """Bytes that the profile gives a CPU engine for keys and values; None where it has none, or does not say."""
    if material.profile.engine.device != "cpu":
        return None
    stated = material.profile.engine.environment.get(KV_SPACE, "")
    return round(float(stated) * GIB) if stated.replace(".", "", 1).isdigit() else None


def _quantize(material: Material, name: str, base: Amount) -> StepMemory:
    recipe, step = material.recipes[name], f"quantize@{name}"
    if recipe.backend == "passthrough":
        return StepMemory(step=step, note="hard links to the base")
    if not recipe.calibrated:
        largest = material.weights.largest_file_bytes
        shard = Amount(
            value=min(base.value, SHARD_BYTES) if largest is None else largest,
            basis="assumed" if largest is None else "measured",
        )
        return StepMemory(step=step, host_bytes=shard, note="one weight file at a time")
    config, calibration = material.served.config, material.profile.calibration
    whole = _calculated(int(HEADROOM * base.value))
    if recipe.autoawq is not None:
        tokens = min(calibration.max_tokens, recipe.autoawq.max_tokens)
        cache = awq_cache_bytes(config, calibration.model_copy(update={"max_tokens": tokens}))
        return StepMemory(step=step, host_bytes=whole, cache_bytes=_calculated(cache), note=f"base x {HEADROOM:g}")
    return StepMemory(
        step=step,
        host_bytes=whole,
        card_bytes=_calculated(awq_layer_bytes(config, calibration)),
        cache_bytes=_calculated(awq_cache_bytes(config, calibration)),
        note=f"base x {HEADROOM:g} on the host, or offloading; one layer and its inputs on the accelerator, at least",
    )


def _serve(material: Material, name: str) -> StepMemory:
    step, setting = f"serve@{name}", material.setting
    if setting is not None:
        share = math.floor(setting.card.memory_bytes * setting.utilisation)
        note = f"{setting.utilisation:g} of each of {setting.tp} x {setting.card.name}"
        return StepMemory(step=step, card_bytes=_calculated(share), note=note)
    space = kv_space_bytes(material)
    if material.profile.engine.device == "remote":
        return StepMemory(step=step, note="an endpoint elsewhere")
    if space is None:
        return StepMemory(step=step, note=f"engine.environment has no {KV_SPACE}: the engine takes most of the host")
    weights = _cpu_weights(material, name)
    return StepMemory(step=step, host_bytes=_calculated(weights + space), note="weights, and keys and values")


def _capacity(material: Material, name: str, lengths: Sequence[Length]) -> Capacity | None:
    config, setting = material.served.config, material.setting
    if setting is not None:
        return capacity(name, config, material.served.formats[name], setting, Traffic(lengths))
    space = kv_space_bytes(material)
    if space is None:
        return None
    per_token = kv_bytes_per_token(config)
    tokens = kv_tokens(space, per_token, CPU_BLOCK)
    fitting = {one.statistic: sequences(tokens, one.own_tokens, 0, CPU_BLOCK) for one in lengths}
    return Capacity(name, _cpu_weights(material, name), space, per_token, tokens, fitting)


def _cpu_weights(material: Material, name: str) -> int:
    """Bytes of the weights in host memory; a variant that is served dequantized holds 16 bits of each."""
    served = material.served
    if name in material.twins:
        return weight_bytes(served.config, served.formats[material.profile.policy.baseline])
    return weight_bytes(served.config, served.formats[name])


def _basis(material: Material, kind: str) -> Basis:
    return "calculated" if kind == "max_model_len" else material.prompts.basis


def _calculated(value: int) -> Amount:
    return Amount(value=value, basis="calculated")
