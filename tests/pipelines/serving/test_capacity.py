"""Weight bytes, KV bytes and what fits: to the digit, against real checkpoints and a real engine, and as properties."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import InputError
from pipelines.serving.capacity import (
    CARDS,
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
from pipelines.serving.capacity_command import main
from pipelines.serving.model_config import (
    ModelConfig,
    WeightFormat,
    linear_parameters,
    parameters,
    read_config,
    tensors,
    weight_bytes,
    weight_format,
)
from quantize.manifest import load_manifest
from quantize.recipe import load_recipe

ROOT = Path(__file__).parents[3]
DATA = ROOT / "pipelines/serving/data"
EVIDENCE = ROOT / "evidence/local"
BIG = read_config(DATA / "qwen2.5-32b-instruct.config.json")
STAND_IN = read_config(DATA / "qwen2.5-coder-0.5b-instruct.config.json")
CARD = CARDS["a100-80g"]
BF16 = WeightFormat(16)
# The files hold names and offsets of the tensors beside their bytes.
HEADER_SHARE = 0.0002


def recipe_format(path: str) -> WeightFormat:
    """The format of a shipped recipe."""
    return weight_format(load_recipe(ROOT / path)[0])


FORMATS = {name: recipe_format(f"quantize/recipes/{name}.yaml") for name in ("bf16", "fp8", "awq-int4")}


def changed(**values: Any) -> ModelConfig:
    """The 32B's config with other values."""
    return ModelConfig.model_validate(BIG.model_dump() | values)


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
    ("text", "named"),
    [
        ("[]", "not a JSON object"),
        ("{", "not a JSON object"),
        ({"architectures": ["Qwen2MoeForCausalLM"]}, "architectures.0"),
        ({"use_sliding_window": True}, "use_sliding_window"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"torch_dtype": "float32"}, "dtype"),
        ({"tie_word_embeddings": None}, "tie_word_embeddings"),
    ],
)
def test_a_config_that_cannot_be_used_is_named(tmp_path: Path, text: str | dict[str, Any], named: str) -> None:
    path = tmp_path / "config.json"
    public = json.loads((DATA / "qwen2.5-32b-instruct.config.json").read_text("utf-8"))
    path.write_text(text if isinstance(text, str) else json.dumps(public | text), "utf-8")
    with pytest.raises(InputError, match=f"config.json: .*{re.escape(named)}.*dense decoders"):
        read_config(path)


def test_both_spellings_of_the_number_format_are_read(tmp_path: Path) -> None:
    public = json.loads((DATA / "qwen2.5-32b-instruct.config.json").read_text("utf-8"))
    dtype = public.pop("torch_dtype")
    (tmp_path / "config.json").write_text(json.dumps(public | {"dtype": dtype}), "utf-8")
    assert read_config(tmp_path / "config.json") == BIG


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


A100 = ["--profile", "profiles/a100.yaml"]
LOCAL = ["--profile", "profiles/local.yaml"]


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["capacity", *LOCAL], "name the card to plan for (--card)"),
        (["capacity", *A100, "--input-tokens", "5"], "--input-tokens and --output-tokens go together"),
        (["capacity", *A100, "--card-gib", "40"], "--card-gib and --card-tflops go together"),
        (["capacity", *A100, "--config", "no.json"], "no.json: no such file"),
        (["capacity", *A100, "--tp", "0"], "tp is 0"),
        (["capacity", *A100, "--manifests", "nowhere"], "no such manifest"),
        (["capacity", *A100, "--lengths", "nowhere"], "nowhere: no such file"),
        (["cost", *A100, "--price", "1", "--serve", "qa=int3"], "--serve qa=int3: give SCENE=VARIANT"),
        (
            ["cost", *A100, "--price", "1", "--throughput", "bf16=240"],
            "--throughput bf16=240: give VARIANT=TOK/S:BASIS",
        ),
        (["cost", *A100, "--price", "1", "--throughput", "bf16=0:assumed"], "throughput is 0.0 tok/s"),
        (["cost", *A100, "--price", "-1", "--throughput", "bf16=9:assumed"], "price is -1.0"),
        (["offload", *A100, "--tokens", "0"], "tokens 0"),
    ],
)
def test_bad_input_is_one_line_and_a_2(
    argv: list[str], named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert named in error


def test_engine_flags_of_the_profile_are_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "profiles/a100.yaml").read_text("utf-8")
    flags = "[--tensor-parallel-size, '2', --gpu-memory-utilization=0.8, --kv-cache-dtype, fp8_e4m3]"
    profile = tmp_path / "a100.yaml"
    profile.write_text(text.replace("flags: []", f"flags: {flags}"), "utf-8")
    assert main(["capacity", "--profile", str(profile)]) == 0
    printed = capsys.readouterr().out
    assert "| cards per replica (tensor parallel) | 2 |" in printed
    assert "| utilisation | 0.8 |" in printed
    assert "| KV cache | fp8, blocks of 16 tokens |" in printed


def test_lengths_come_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    rows = [{"input_tokens": 1000 * n, "output_tokens": 100, "shared_tokens": 512} for n in range(1, 21)]
    (tmp_path / "lengths.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert main(["capacity", *A100, "--lengths", str(tmp_path / "lengths.jsonl"), "--prefixes", "2"]) == 0
    printed = capsys.readouterr().out
    assert "| shared prefixes in the cache | 1,024 tokens |" in printed
    assert "| p95 | 19,000 | 100 | 18,588 | 1 |" in printed


def test_no_column_mixes_bases(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    argv = ["capacity", *LOCAL, "--card", "a100-80g", "--manifests", "evidence/local/checkpoints"]
    assert main([*argv, "--input-tokens", "9", "--output-tokens", "9"]) == 0
    heads = re.findall(r"^\| (.+) \|\n\| ---", capsys.readouterr().out, re.MULTILINE)
    columns = [column for head in heads[1:] for column in head.split(" | ")]
    untagged = {"variant", "requests", "input", "output", "own tokens", "cards", "not possible because"}
    tags = [
        re.findall(r"measured|simulated|calculated|assumed", column) for column in columns if column not in untagged
    ]
    assert all(len(tag) == 1 for tag in tags)
    assert ["measured"] in tags


DOC = (ROOT / "docs" / "capacity.md").read_text("utf-8")
COMMANDS = re.findall(r"^    python -m pipelines\.serving\.capacity_command ((?:.*\\\n)*.*)$", DOC, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_the_document_shows_what_the_command_prints(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(command.replace("\\\n", " ").split()) == 0
    assert capsys.readouterr().out.strip() in DOC


def test_every_table_of_the_document_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    for command in COMMANDS:
        main(command.replace("\\\n", " ").split())
    printed = capsys.readouterr().out.splitlines()
    assert len(COMMANDS) == 4
    assert not [line for line in DOC.splitlines() if line.startswith("|") and line not in printed]
