"""Text that changes from request to request: how moments, ids and nonces look."""

from __future__ import annotations

import re
from typing import Literal

VolatileKind = Literal["time", "uuid", "request_id", "nonce"]
_UUID = r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
_REQUEST_ID = (
    r"(?:(?i:\b(?:req|request|trace|span|session)(?:[-_ ]?id)?)|请求编号|请求号|会话编号|流水号)"
    r"[\"']?[-_:：= ]+[\"']?(?=[\w-]*\d)[\w-]{6,}"
)
# Clock times, alone or behind a date, and seconds or milliseconds since 1970, of the years 2001 to 2033.
_TIME = (
    r"(?:\d{4}-\d{2}-\d{2}[T ]|\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?日 ?)?"
    r"(?:(?<!\d)\d{1,2}[:：]\d{2}(?:[:：]\d{2})?(?:\.\d+)?(?!\d)|\d{1,2} ?时 ?\d{1,2} ?分)"
    r"|(?<![\d.])1\d{9}(?:\d{3})?(?![\d.])"
)
# Long runs of hexadecimal digits, or of letters of both cases and digits.
_NONCE = (
    r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\b"
    r"|\b(?=[A-Za-z]*\d)(?=[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])[A-Za-z0-9]{20,}\b"
)
MARK = "\ue000"  # a private-use character: no prompt holds it
PATTERNS: dict[VolatileKind, re.Pattern[str]] = {
    "uuid": re.compile(_UUID),
    "request_id": re.compile(_REQUEST_ID),
    "time": re.compile(_TIME),
    "nonce": re.compile(_NONCE),
}
_ANY = re.compile("|".join(f"(?P<{kind}>{pattern.pattern})" for kind, pattern in PATTERNS.items()))


def spans(text: str) -> list[tuple[VolatileKind, str]]:
    """What looks volatile in a text, in order: kind and value. Where two kinds fit, the first in `PATTERNS` counts."""
    return [(_kind(found), found[0]) for found in _ANY.finditer(text)]


def masked(text: str) -> str:
    """The text with each such span replaced by its kind: equal for texts that differ in nothing else."""
    return _ANY.sub(lambda found: f"{MARK}{_kind(found)}{MARK}", text)


def _kind(found: re.Match[str]) -> VolatileKind:
    return next(kind for kind in PATTERNS if found[kind] is not None)
