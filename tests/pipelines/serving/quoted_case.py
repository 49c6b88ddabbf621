"""The case that the quoted figures are about: what is quoted, and what its model and card give. Units in the names."""

from __future__ import annotations

from pathlib import Path

from pipelines.serving.capacity import CARDS, Capacity, Request, Setting, capacity, kv_bytes_per_token, traffic_of
from pipelines.serving.model_config import ModelConfig, read_config, weight_format
from quantize.recipe import load_recipe

Row = tuple[str, str, str, str]
ROOT = Path(__file__).parents[3]
CONFIG: ModelConfig = read_config(ROOT / "pipelines/serving/data/qwen2.5-32b-instruct.config.json")
CARD = CARDS["a100-80g"]
NAMES = ("bf16", "fp8", "awq-int4")
FORMATS = {name: weight_format(load_recipe(ROOT / f"quantize/recipes/{name}.yaml")[0]) for name in NAMES}

INPUT, OUTPUT, SYSTEM, SHARED = 3200, 412, 1840, 1712  # tokens; SHARED of the system prompt, in the mean
TESTED_OUTPUT = 400
FULL = INPUT + TESTED_OUTPUT  # what a request of the load test holds when it is complete
SHARE = {"awq-int4": 0.61, "fp8": 0.35, "bf16": 0.04}
POOL_BYTES = 24e9
BEFORE, AFTER = 240, 1180  # tok/s per card
PEAK = CARD.peak_flops

SETTING = Setting(CARD)
KV = kv_bytes_per_token(CONFIG)
TRAFFIC = traffic_of([Request(INPUT, OUTPUT, SHARED)], SETTING.block_size)
LOAD_TEST = traffic_of([Request(INPUT, TESTED_OUTPUT)], SETTING.block_size)


def of(variant: str, setting: Setting = SETTING) -> Capacity:
    """What a variant leaves room for under users' requests, the shared prefix held once."""
    return capacity(variant, CONFIG, FORMATS[variant], setting, TRAFFIC)


def tested(variant: str, setting: Setting = SETTING) -> int:
    """Complete requests of the load test at once, nothing shared."""
    return capacity(variant, CONFIG, FORMATS[variant], setting, LOAD_TEST).sequences["mean"]


def own_tokens() -> int:
    """Tokens that a user's request brings beside the shared prefix."""
    return TRAFFIC.lengths[0].own_tokens


def percent(share: float, digits: int = 1) -> str:
    """A share (0 to 1) in percent."""
    return f"{100 * share:.{digits}f} %"


def gb(count: float) -> str:
    """Bytes in GB, one decimal."""
    return f"{count / 1e9:.1f} GB"
