"""Loading stored keys and values against computing them again: operations counted one by one, and the break-even."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import InputError
from pipelines.serving.capacity import CARDS
from pipelines.serving.capacity_text import break_even_table, offload_rows, offload_table
from pipelines.serving.model_config import ModelConfig, linear_parameters, read_config
from pipelines.serving.offload import (
    LINKS,
    Link,
    Question,
    break_even_bytes_per_s,
    decode_flops,
    load_s,
    prefill_flops,
    recompute_s,
    stored_bytes,
)

DATA = Path(__file__).parents[3] / "pipelines/serving/data"
BIG = read_config(DATA / "qwen2.5-32b-instruct.config.json")
TINY = ModelConfig.model_validate(
    {
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 6,
        "intermediate_size": 10,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "num_key_value_heads": 1,
        "head_dim": 4,
        "vocab_size": 11,
        "max_position_embeddings": 64,
        "tie_word_embeddings": False,
        "dtype": "bfloat16",
    }
)
PEAK = 312e12


def one_by_one(tokens: int, cached: int) -> int:
    """Operations of the tiny model's prefill, counted for each token, layer, head and token seen."""
    matrices = [(12, 6), (4, 6), (4, 6), (6, 12), (10, 6), (10, 6), (6, 10)]
    count = 0
    for position in range(cached, cached + tokens):
        for _ in range(2):
            count += sum(2 * outputs * inputs for outputs, inputs in matrices)
            for _head in range(3):
                for _seen in range(position + 1):
                    count += 2 * 4  # the product of query and key
                    count += 2 * 4  # the value, weighted and added
    return count


@pytest.mark.parametrize(("tokens", "cached"), [(1, 0), (5, 0), (1, 7), (4, 9)])
def test_operations_are_those_counted_one_by_one(tokens: int, cached: int) -> None:
    assert prefill_flops(TINY, tokens, cached) == one_by_one(tokens, cached)


@given(st.integers(1, 10**5), st.integers(1, 10**5))
def test_a_prefill_in_two_parts_costs_what_it_costs_in_one(first: int, second: int) -> None:
    parts = prefill_flops(BIG, first) + prefill_flops(BIG, second, cached_tokens=first)
    assert parts == prefill_flops(BIG, first + second)


def test_a_decoded_token_passes_every_matrix_and_the_head() -> None:
    assert decode_flops(BIG) == 2 * (31_205_621_760 + 152_064 * 5_120)
    assert decode_flops(TINY) == 2 * (linear_parameters(TINY) + 66)


def test_3200_tokens_of_the_32b_to_the_digit() -> None:
    question = Question(3200, PEAK)
    assert stored_bytes(BIG, question) == 838_860_800
    assert f"{recompute_s(BIG, question):.3f}" == "0.662"
    assert f"{break_even_bytes_per_s(BIG, question) / 1e9:.2f}" == "1.27"
    assert f"{prefill_flops(BIG, 12_000) / PEAK:.1f}" == "2.7"


@given(st.integers(1, 10**5), st.floats(1e12, 1e15), st.floats(0.05, 1), st.sampled_from(["bf16", "fp8"]))
def test_at_the_break_even_both_take_as_long(tokens: int, flops: float, efficiency: float, kv_dtype: str) -> None:
    question = Question(tokens, flops, efficiency, kv_dtype)
    even = Link("even", break_even_bytes_per_s(BIG, question) / efficiency)
    assert load_s(BIG, question, even) == pytest.approx(recompute_s(BIG, question))
    faster = Link("faster", 2 * even.bytes_per_s)
    assert load_s(BIG, question, faster) == pytest.approx(load_s(BIG, question, even) / 2)


def test_an_fp8_cache_halves_what_is_moved() -> None:
    assert stored_bytes(BIG, Question(100, PEAK, kv_dtype="fp8")) * 2 == stored_bytes(BIG, Question(100, PEAK))


def test_links_are_in_order_of_their_rate() -> None:
    rates = [link.bytes_per_s for link in LINKS]
    assert rates == sorted(rates)
    assert {"10 Gb/s Ethernet": 1.25e9, "25 Gb/s Ethernet": 3.125e9, "100 Gb/s Ethernet": 12.5e9}.items() <= {
        link.name: link.bytes_per_s for link in LINKS
    }.items()


@pytest.mark.parametrize(("sustained", "faster"), [(0.2, "load"), (1.0, "compute")])
def test_the_table_says_which_is_faster(sustained: float, faster: str) -> None:
    # 10 Gb/s at 0.8 brings 1 GB/s: below the break-even of a card at its peak, above that of one at a fifth.
    question = Question(3200, PEAK * sustained, 0.8)
    line = next(line for line in offload_table(BIG, question, "A100 80G").splitlines() if line.startswith("| 10 Gb/s"))
    assert line == f"| 10 Gb/s Ethernet | 1.25 | 839 | {1000 * recompute_s(BIG, question):,.0f} | {faster} |"


def test_inputs_and_what_is_calculated_are_printed_apart() -> None:
    question = Question(3200, PEAK / 2, 0.8)
    assert dict(offload_rows(CARDS["a100-80g"], 1, 0.5, question)) == {
        "cards": "1 x A100 80G",
        "sustained in prefill": "0.5 of 312 TFLOP/s each",
        "prefix": "3,200 tokens",
        "KV cache": "bf16",
        "efficiency of links": "0.8",
    }
    assert break_even_table(BIG, question, "A100 80G").splitlines() == [
        "| quantity | calculated, A100 80G |",
        "| --- | --- |",
        "| KV bytes per token | 262,144 |",
        "| KV of the prefix | 838.9 MB |",
        "| prefill | 206.4 TFLOP |",
        "| break-even | 0.63 GB/s (5.1 Gb/s) arriving |",
    ]


@pytest.mark.parametrize(
    ("tokens", "flops", "efficiency"), [(0, 1e12, 1.0), (5, 0.0, 1.0), (5, 1e12, 0.0), (5, 1e12, 1.1)]
)
def test_a_question_without_an_answer_is_refused(tokens: int, flops: float, efficiency: float) -> None:
    with pytest.raises(InputError, match="give at least one token"):
        Question(tokens, flops, efficiency)
