"""Calibration: exactly N rows, the same for the same seed, the ends of conversations, masks on what was answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from quantize.calibration import Conversation, even_blocks, freeze, read_rows, write_rows
from quantize.chat_template import ChatTemplate
from quantize.recipe import RecipeError

TEMPLATE = (
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{%- endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{%- endif %}"
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> ChatTemplate:
    folder = tmp_path_factory.mktemp("checkpoint")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        ["refund"],
        trainers.BpeTrainer(
            special_tokens=["<|im_start|>", "<|im_end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        ),
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return ChatTemplate(folder)


def conversation(number: int) -> Conversation:
    messages = [
        {"role": "user", "content": f"问题 {number} " * 5},
        {"role": "assistant", "content": f"答案 {number}"},
    ]
    return Conversation(f"row-{number}", messages, None)


ALL = [conversation(number) for number in range(12)]


def test_exactly_n_rows_in_a_seeded_order(template: ChatTemplate) -> None:
    rows = freeze(ALL, template, samples=5, max_tokens=400, seed=1)
    assert len(rows) == len({row.id for row in rows}) == 5
    assert freeze(list(reversed(ALL)), template, samples=5, max_tokens=400, seed=1) == rows
    assert [row.id for row in freeze(ALL, template, samples=5, max_tokens=400, seed=2)] != [row.id for row in rows]


def test_too_few_conversations_is_an_error(template: ChatTemplate) -> None:
    with pytest.raises(RecipeError, match="12 conversations, 13 wanted"):
        freeze(ALL, template, samples=13, max_tokens=400, seed=1)


def test_the_end_is_kept_and_the_mask_covers_the_answer(template: ChatTemplate) -> None:
    row = freeze([ALL[3]], template, samples=1, max_tokens=20, seed=1)[0]
    assert len(row.input_ids) == len(row.loss_mask) == 20
    answered = template.decode([token for token, mask in zip(row.input_ids, row.loss_mask, strict=True) if mask])
    assert "答案 3<|im_end|>" in answered
    assert "问题" not in answered


def test_rows_survive_a_round_trip(template: ChatTemplate, tmp_path: Path) -> None:
    rows = freeze(ALL, template, samples=4, max_tokens=64, seed=1)
    digest = write_rows(rows, tmp_path / "rows.jsonl")
    assert read_rows(tmp_path / "rows.jsonl") == (rows, digest)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=40), min_size=1, max_size=20), st.integers(1, 50))
def test_blocks_have_one_length_and_lose_next_to_nothing(rows: list[list[int]], max_tokens: int) -> None:
    blocks = even_blocks(rows, max_tokens)
    joined = [token for row in rows for token in row[-max_tokens:]]
    used = [token for block in blocks for token in block]
    assert {len(block) for block in blocks} == {len(blocks[0])}
    assert 1 <= len(blocks[0]) <= max_tokens
    assert joined[: len(used)] == used
    assert len(joined) - len(used) < len(blocks)


@pytest.mark.parametrize(
    ("rows", "max_tokens", "blocks"),
    [
        ([[1, 2], [3, 4]], 2, [[1, 2], [3, 4]]),
        ([[1, 2, 3], [4, 5, 6]], 2, [[2, 3], [5, 6]]),
        # One long row among short ones; all shorter than the limit: whoever waits for full blocks still gets some.
        ([[1], [2], [3, 4, 5, 6, 7], [8]], 5, [[1, 2, 3, 4], [5, 6, 7, 8]]),
        ([[1, 2], [3]], 512, [[1], [2]]),
    ],
)
def test_blocks_by_hand(rows: list[list[int]], max_tokens: int, blocks: list[list[int]]) -> None:
    assert even_blocks(rows, max_tokens) == blocks


def test_no_rows_make_no_blocks() -> None:
    with pytest.raises(RecipeError, match=r"raise calibration\.samples"):
        even_blocks([], 8)
