"""Weight bytes, KV bytes and what fits: to the digit, against real checkpoints and a real engine, and as properties."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import InputError
from pipelines.serving.capacity import (
    GIB,
    Request,
    Setting,
    capacity,
    kv_bytes_per_token,
    kv_room_bytes,
    kv_tokens,
    sequences,
    tp_problems,
    traffic_of,
)
from pipelines.serving.model_config import (
    WeightFormat,
    linear_parameters,
    parameters,
    tensors,
    weight_bytes,
)
from quantize.manifest import load_manifest
from tests.pipelines.serving.capacity_material import (
    BF16,
    BIG,
    CARD,
    EVIDENCE,
    FORMATS,
    HEADER_SHARE,
    STAND_IN,
    changed,
    recipe_format,
)


@pytest.mark.parametrize(
    ("variant", "wanted", "shown"),
    [("bf16", 65_527_752_704, "65.5"), ("fp8", 34_331_437_056, "34.3"), ("awq-int4", 19_328_812_032, "19.3")],
)
def test_weight_bytes_of_the_32b_to_the_digit(variant: str, wanted: int, shown: str) -> None:
    assert weight_bytes(BIG, FORMATS[variant]) == wanted
    assert f"{wanted / 1e9:.1f}" == shown


def test_counts_of_the_32b_to_the_digit() -> None:
    assert parameters(BIG) == 32_763_876_352
    assert linear_parameters(BIG) == 31_205_621_760
    assert kv_bytes_per_token(BIG) == 262_144
    assert kv_bytes_per_token(BIG, "fp8") == 131_072


@pytest.mark.parametrize("variant", ["bf16", "fp8", "awq-int4"])
def test_measured_files_are_the_calculated_tensors_and_a_header(variant: str) -> None:
    manifest = load_manifest(EVIDENCE / "checkpoints" / variant / "manifest.json")
    calculated = weight_bytes(STAND_IN, recipe_format(manifest.recipe))
    assert calculated < manifest.weight_bytes < calculated * (1 + HEADER_SHARE)


@pytest.mark.parametrize("run", ["bf16", "fp8", "awq-int4"])
def test_a_real_engine_found_as_many_kv_tokens(run: str) -> None:
    engine = json.loads((EVIDENCE / "engine" / f"{run}.json").read_text("utf-8"))
    cache = {key: int(engine["cache_config"][key]) for key in ("block_size", "num_gpu_blocks", "kv_cache_size_tokens")}
    room = int(engine["environment"]["VLLM_CPU_KVCACHE_SPACE"]) * GIB
    tokens = kv_tokens(room, kv_bytes_per_token(STAND_IN), cache["block_size"])
    assert tokens == cache["kv_cache_size_tokens"] == cache["num_gpu_blocks"] * cache["block_size"]


def test_heads_of_the_shipped_configs_make_up_the_hidden_size() -> None:
    assert STAND_IN.head_size * STAND_IN.num_attention_heads == STAND_IN.hidden_size
    assert BIG.head_size * BIG.num_attention_heads == BIG.hidden_size


@pytest.mark.parametrize(
    ("values", "difference"),
    [
        ({"tie_word_embeddings": True}, -152064 * 5120),
        ({"architectures": ["LlamaForCausalLM"]}, -64 * (5120 + 2 * 1024)),
        ({"architectures": ["LlamaForCausalLM"], "attention_bias": True}, 64 * 5120),
        ({"architectures": ["LlamaForCausalLM"], "mlp_bias": True}, 64 * (2 * 27648 + 5120 - 5120 - 2 * 1024)),
        ({"architectures": ["Qwen3ForCausalLM"]}, 64 * (2 * 128 - 5120 - 2 * 1024)),
        ({"head_dim": None}, 0),
        ({"head_dim": 64}, -64 * (2 * 5120 + 2 * 1024) * 5120 // 2 - 64 * (5120 + 2 * 1024) // 2),
    ],
)
def test_parameters_follow_the_config(values: dict[str, Any], difference: int) -> None:
    assert parameters(changed(**values)) == parameters(BIG) + difference


@pytest.mark.parametrize(
    ("stored", "bits_saved_per_weight"),
    [
        (WeightFormat(4, 128), 12 - 16 / 128),
        (WeightFormat(4, 128, zero_points=True), 12 - 20 / 128),
        (WeightFormat(4, 64, zero_points=True), 12 - 20 / 64),
    ],
)
def test_four_bit_formats_pay_for_scales_and_zero_points(stored: WeightFormat, bits_saved_per_weight: float) -> None:
    stored = WeightFormat(stored.bits, stored.group, stored.zero_points, ("lm_head",))
    saved = round(linear_parameters(BIG) * bits_saved_per_weight / 8) - 16 * 64 * 7
    assert weight_bytes(BIG, stored) == weight_bytes(BIG, BF16) - saved


def test_what_a_recipe_ignores_stays_in_16_bit() -> None:
    all_of_it = weight_bytes(BIG, WeightFormat(8))
    no_head = weight_bytes(BIG, WeightFormat(8, ignore=("lm_head",)))
    assert no_head - all_of_it == 152064 * (5120 - 2)
    without_down = weight_bytes(BIG, WeightFormat(8, ignore=("lm_head", "re:.*down_proj$")))
    assert without_down - no_head == 64 * 5120 * (27648 - 2)


@pytest.mark.parametrize("variant", FORMATS)
@pytest.mark.parametrize("tp", [2, 4, 8, 16])
def test_cards_share_the_weights_and_hold_little_twice(variant: str, tp: int) -> None:
    whole, each = weight_bytes(BIG, FORMATS[variant]), weight_bytes(BIG, FORMATS[variant], tp)
    copied = 0 if tp <= 8 else 2 * 64 * 1024 * 5120 * 2
    small = sum(2 * shape[0] for shape in tensors(BIG).values() if len(shape) == 1) + 3 * 16 * 64 * 7
    assert whole <= tp * each <= whole + copied * tp + tp * (small + 64 * 2 * 5120 * 2)


def test_key_and_value_heads_are_copied_beyond_their_number() -> None:
    assert [kv_bytes_per_token(BIG, tp=tp) for tp in (1, 2, 4, 8, 16)] == [262_144, 131_072, 65_536, 32_768, 32_768]


@pytest.mark.parametrize(
    ("variant", "tokens", "requests"), [("bf16", 36_368, 10), ("fp8", 155_376, 43), ("awq-int4", 212_608, 59)]
)
def test_what_fits_beside_the_32b(variant: str, tokens: int, requests: int) -> None:
    traffic = traffic_of([Request(3200, 400)], 16)
    found = capacity(variant, BIG, FORMATS[variant], Setting(CARD), traffic)
    assert (found.kv_tokens, found.sequences) == (tokens, {"mean": requests})


def test_nothing_fits_where_the_weights_do_not() -> None:
    assert kv_room_bytes(Setting(CARD, utilisation=0.8), weight_bytes(BIG, BF16)) == 0


@given(st.integers(0, 10**9), st.integers(1, 10**6), st.sampled_from([1, 16, 128]))
def test_whole_blocks_fit_and_one_more_does_not(room: int, per_token: int, block: int) -> None:
    tokens = kv_tokens(room, per_token, block)
    assert tokens % block == 0
    assert tokens * per_token <= room < (tokens + block) * per_token


@given(st.integers(0, 10**6), st.integers(1, 10**5), st.integers(0, 10**5), st.sampled_from([1, 16, 128]))
def test_that_many_sequences_fit_and_one_more_does_not(tokens: int, own: int, prefix: int, block: int) -> None:
    def blocks(count: int) -> int:
        return -(-count // block)

    fit = sequences(tokens, own, prefix, block)
    free = tokens // block - blocks(prefix)
    assert fit == 0 or fit * blocks(own) <= free
    assert (fit + 1) * blocks(own) > free


@given(st.lists(st.integers(1, 5000), min_size=2, max_size=300))
def test_quantiles_are_lengths_that_occur_and_enough_are_no_longer(inputs: list[int]) -> None:
    found = {one.statistic: one for one in traffic_of([Request(count, 7) for count in inputs], 16).lengths}
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert found[name].input_tokens in inputs
        assert sum(count <= found[name].input_tokens for count in inputs) >= share * len(inputs)
        assert sum(count < found[name].input_tokens for count in inputs) < share * len(inputs)
        assert found[name].own_tokens == found[name].input_tokens + 7
    assert found["mean"].input_tokens - 1 < sum(inputs) / len(inputs) <= found["mean"].input_tokens


def test_only_whole_blocks_of_a_prefix_are_shared() -> None:
    traffic = traffic_of([Request(100, 10, 40), Request(50, 10, 33)], 16, prefixes=3)
    assert [request.own_tokens(16) for request in (Request(100, 10, 40), Request(50, 10, 33))] == [78, 28]
    assert traffic.prefix_tokens == 3 * 32
    assert traffic.lengths[0].own_tokens == 53


@pytest.mark.parametrize(
    ("values", "stored", "tp", "named"),
    [
        ({}, FORMATS["awq-int4"], 1, []),
        ({}, FORMATS["awq-int4"], 8, []),
        ({}, FORMATS["fp8"], 3, ["num_attention_heads 40 / 3", "num_key_value_heads 8 and 3"]),
        ({"intermediate_size": 29568}, FORMATS["awq-int4"], 1, []),
        ({"intermediate_size": 29568}, FORMATS["awq-int4"], 2, ["intermediate_size 29568 / 2 is not a multiple"]),
        ({"intermediate_size": 29568}, FORMATS["fp8"], 2, []),
        ({"intermediate_size": 27649}, FORMATS["bf16"], 2, ["intermediate_size 27649 / 2 is not whole"]),
        ({"hidden_size": 5184, "head_dim": 128}, FORMATS["awq-int4"], 1, ["hidden_size 5184 / 1 is not a multiple"]),
        ({"head_dim": 96}, FORMATS["awq-int4"], 4, ["num_attention_heads * head_dim 3840 / 4 is not a multiple"]),
        ({}, FORMATS["bf16"], 16, ["num_attention_heads 40 / 16 is not whole"]),
    ],
)
def test_sizes_that_cards_cannot_share(values: dict[str, Any], stored: WeightFormat, tp: int, named: list[str]) -> None:
    found = tp_problems(changed(**values), stored, tp)
    assert len(found) == len(named)
    assert all(problem.startswith(name) for problem, name in zip(found, named, strict=True))


@pytest.mark.parametrize(
    "values",
    [
        {"utilisation": 0.0},
        {"utilisation": 1.01},
        {"tp": 0},
        {"block_size": 0},
        {"graph_bytes": -1},
        {"kv_dtype": "int4"},
    ],
)
def test_a_setting_out_of_range_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Setting(CARD, **values)


@pytest.mark.parametrize("counts", [(10, 1, 11), (10, -1, 0), (10, 1, -1)])
def test_a_request_that_cannot_be_is_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="shared"):
        Request(*counts)
