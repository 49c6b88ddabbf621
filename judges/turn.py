"""One assistant turn in the raw text: where it begins and ends, and which parts of it are thinking."""

from __future__ import annotations

import re
from dataclasses import dataclass

THINK, UNTHINK = "<think>", "</think>"
_SPACE = re.compile(r"\s*")
MAX_BYTES = 65_536

END_TOKENS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|end_of_text|>",
    "<|return|>",
    "<|call|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "<eos>",
    "</s>",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """The visible part `raw[start:end]` of a turn: without think blocks that open it and end-of-turn tokens.

    `open_think` is true where a think block opens it and is never closed: then the part is that block's content.
    `ended` is true where an end-of-turn token shows that the model stopped by itself.
    """

    raw: str
    start: int
    end: int
    open_think: bool = False
    ended: bool = False


def read_turn(raw: str) -> Turn:
    """The turn in a raw completion. A `</think>` without its opening tag is text."""
    end = _written(raw, len(raw))
    ended = False
    while raw.endswith(END_TOKENS, 0, end):
        token = next(token for token in END_TOKENS if raw.endswith(token, 0, end))
        end = _written(raw, end - len(token))
        ended = True
    start = _visible(raw, 0, end)
    while raw.startswith(THINK, start):
        close = raw.find(UNTHINK, start, end)
        if close < 0:
            return Turn(raw, start + len(THINK), end, True, ended)
        start = _visible(raw, close + len(UNTHINK), end)
    return Turn(raw, start, end, False, ended)


def _written(raw: str, end: int) -> int:
    """The offset after the last character of `raw[:end]` that is not white space."""
    while end > 0 and raw[end - 1].isspace():
        end -= 1
    return end


def _visible(raw: str, start: int, end: int) -> int:
    """The offset of the first character in `raw[start:end]` that is not white space, or `end`."""
    found = _SPACE.match(raw, start, end)
    return found.end() if found else end


def too_long(raw: str) -> int | None:
    """The length in bytes (UTF-8) of a completion that is too long to be judged, else None."""
    if 4 * len(raw) <= MAX_BYTES:
        return None
    length = len(raw.encode("utf-8", "surrogatepass"))
    return length if length > MAX_BYTES else None


def runs_away(text: str) -> str | None:
    """The token that a text repeats to its very end, or None. Digits and white space are told elsewhere.

    A text that is nothing else needs 8 repetitions; after other text it takes 24 (16 of more than one character),
    and 200 of a rule line such as `-----`.
    """
    if text[-1:] not in text[-33:-1]:
        return None
    for length in range(1, min(32, len(text) // 8) + 1):
        if text[-1] != text[-1 - length] or text[-length:] != text[-2 * length : -length]:
            continue
        unit = text[-length:]
        if unit.isdigit() or not unit.strip():
            return None
        repeats = 2
        while text.endswith(unit, 0, len(text) - repeats * length):
            repeats += 1
        whole = repeats * length >= len(text) - length
        enough = 200 if unit.strip("-=_*#~. |") == "" else 8 if whole else 24 if length == 1 else 16
        if repeats >= enough:
            return unit
    return None
