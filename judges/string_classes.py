"""How one string differs from another. Strings compare after NFC; nothing else is folded before they are compared."""

from __future__ import annotations

import re
import unicodedata

from rapidfuzz.distance import Levenshtein

from judges.dates import is_date, read_moment, same_date

MAX_ID_EDITS = 4
MIN_ID_LENGTH = 8

_ID = re.compile(r"[A-Za-z0-9._-]+\Z")
_WIDE = {0xFF01 + offset: 0x21 + offset for offset in range(94)} | {0x3000: 0x20}


def same_text(first: str, second: str) -> bool:
    """Whether two strings are equal after NFC."""
    if first == second:
        return True
    if first.isascii() and second.isascii():
        return False
    return unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second)


def half_width(text: str) -> str:
    """The text with full-width letters, digits, punctuation and spaces (U+FF01 to U+FF5E, U+3000) as ASCII."""
    return text.translate(_WIDE)


def string_class(gold: str, got: str) -> str | None:
    """The label of a string that is not equal to gold: the first of `date_format`, `id_drift`, `unicode_corrupt`,
    `fullwidth_value` and `whitespace` that applies, or None where it is another text altogether."""
    gold, got = unicodedata.normalize("NFC", gold), unicodedata.normalize("NFC", got)
    wanted = read_moment(gold)
    given = read_moment(got) if wanted else None
    if wanted and given and same_date(wanted, given):
        return "date_format"
    if _is_id(gold) and _ID.match(got) and _edits(gold, got) <= MAX_ID_EDITS:
        return "id_drift"
    if _one_hex_digit_apart(gold, got):
        return "unicode_corrupt"
    if half_width(gold) == half_width(got):
        return "fullwidth_value"
    if "".join(gold.split()) == "".join(got.split()):
        return "whitespace"
    return None


def _is_id(text: str) -> bool:
    """Whether a text is an identifier: long enough, of its characters only, a digit among them, and no date."""
    if len(text) < MIN_ID_LENGTH or not _ID.match(text) or not any(char.isdigit() for char in text):
        return False
    return not is_date(text)


def _edits(first: str, second: str) -> int:
    """The edit distance, or any larger number where it is more than `MAX_ID_EDITS`."""
    return Levenshtein.distance(first, second, score_cutoff=MAX_ID_EDITS)


def _one_hex_digit_apart(gold: str, got: str) -> bool:
    """As long, and one code point beyond ASCII of gold differs in one digit of its hexadecimal spelling."""
    if len(gold) != len(got) or gold.isascii():
        return False
    apart = [(ord(a), ord(b)) for a, b in zip(gold, got, strict=True) if a != b]
    if len(apart) != 1 or apart[0][0] < 0x80:
        return False
    first, second = (f"{code:06x}" for code in apart[0])
    return sum(a != b for a, b in zip(first, second, strict=True)) == 1
