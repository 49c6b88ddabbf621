"""Calibration, frozen to disk: exactly N rows of token ids, chosen by a seed, rendered with template and tools."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quantize.chat_template import ChatTemplate
from quantize.recipe import RecipeError


@dataclass(frozen=True)
class Conversation:
    """One conversation calibration may see, with the tools its prompt offers."""

    id: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None


@dataclass(frozen=True)
class Row:
    """One frozen row: the conversation's last token ids, and which of them the assistant wrote (1) or not (0)."""

    id: str
    input_ids: list[int]
    loss_mask: list[int]


def freeze(
    conversations: Sequence[Conversation], template: ChatTemplate, samples: int, max_tokens: int, seed: int
) -> list[Row]:
    """Exactly `samples` rows of at most `max_tokens` tokens, in a seeded order that does not depend on length.

    Raises `RecipeError` when there are fewer conversations than `samples`.
    """
    if len(conversations) < samples:
        raise RecipeError(
            f"calibration has {len(conversations)} conversations, {samples} wanted; lower calibration.samples"
        )
    chosen = random.Random(seed).sample(sorted(conversations, key=lambda conversation: conversation.id), samples)
    return [_row(conversation, template, max_tokens) for conversation in chosen]


def write_rows(rows: Sequence[Row], path: Path) -> str:
    """Write frozen rows as JSONL; the SHA-256 of the file."""
    text = "".join(json.dumps(vars(row), separators=(",", ":")) + "\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def read_rows(path: Path) -> tuple[list[Row], str]:
    """Frozen rows and the SHA-256 of their file."""
    data = path.read_bytes()
    return [Row(**json.loads(line)) for line in data.decode().splitlines()], hashlib.sha256(data).hexdigest()


def even_blocks(rows: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
    """The rows' last `max_tokens` tokens, joined in order and split into blocks of one length of at most `max_tokens`.

    For quantizers that take such blocks only, and drop what is longer or fills none. Rows of one length are blocks as
    they are; else fewer tokens than there are blocks are left out, at the end. Raises `RecipeError` without any row.
    """
    if not rows:
        raise RecipeError("calibration has no rows; raise calibration.samples")
    kept = [row[-max_tokens:] for row in rows]
    joined = [token for row in kept for token in row]
    count = math.ceil(len(joined) / max(map(len, kept)))
    size = len(joined) // count
    return [joined[start * size : (start + 1) * size] for start in range(count)]


def _row(conversation: Conversation, template: ChatTemplate, max_tokens: int) -> Row:
    messages, tools = conversation.messages, conversation.tools
    ids = template.ids(messages, tools, answer=False)
    mask = [0] * len(ids)
    for turn, message in enumerate(messages):
        if message["role"] == "assistant":
            start = len(template.ids(messages[:turn], tools))
            end = len(template.ids(messages[: turn + 1], tools, answer=False))
            mask[start:end] = [1] * (end - start)
    # The end, not the beginning: there are the answers and the calls, and the tools' schemas would crowd them out.
    return Row(conversation.id, ids[-max_tokens:], mask[-max_tokens:])
