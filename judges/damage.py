"""Where a text is not JSON: damages a reader can go on after, and places where it gets stuck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    """A place where the text is not JSON: the subtype of `json_syntax`, its span, and whether a rule undoes it."""

    kind: str
    start: int
    end: int
    lossless: bool = False


class Stuck(Exception):
    """No local damage explains `position`.

    `state` is what was being read: `value`, `key`, `colon`, `object` or `array` (what follows a value in one),
    `string` (never closed; `position` is its opening quote), `depth` and `many` (nested or damaged beyond reading), or
    `tail` (what follows the whole). `opened` are
    the open brackets, `last_string` the span of the string read last.
    """

    def __init__(self, position: int, state: str, opened: str, last_string: tuple[int, int] | None) -> None:
        super().__init__(state)
        self.position = position
        self.state = state
        self.opened = opened
        self.last_string = last_string


def lossless(text: str, found: Sequence[Deviation], json_words: bool) -> bool:
    """Whether the listed rules undo every deviation found in `text`, alone or together.

    `json_words`: one of true, false and null occurs. A Python literal is one as a whole: no JSON words in it, nothing
    else amiss, no escapes to interpret. Curly quotes are read as quotes only where there are no others.
    """
    if not all(deviation.lossless for deviation in found):
        return False
    kinds = {deviation.kind for deviation in found}
    if kinds & {"single_quotes", "python_literal"}:
        return kinds <= {"single_quotes", "python_literal", "trailing_comma"} and not json_words and "\\" not in text
    curly = any(deviation.kind == "fullwidth" and text[deviation.start] == "“" for deviation in found)
    return not (curly and '"' in text)
