"""Calibration: exactly N rows, the same for the same seed, the ends of conversations, masks on what was answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from quantize.calibration import Conversation, freeze, read_rows, write_rows
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
