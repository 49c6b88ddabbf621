"""How a quoted text is read from almost-JSON: its content, its end, and what was wrong inside it."""

from __future__ import annotations

import re

OPENERS = "\"'“‘”＂"  # what may open a string; only the first is JSON
Damage = tuple[str, int, int, bool]

_CLOSER = {'"': '"', "'": "'", "“": "”", "‘": "’", "”": "”", "＂": "＂"}
_PLAIN = {close: re.compile(rf"[^{close}\\\x00-\x1f]*") for close in _CLOSER.values()}
_CLEAN = re.compile(r'"([^"\\\x00-\x1f]*)"')  # as JSON has it, and without escapes
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")


def read_string(text: str, start: int) -> tuple[str, int | None, list[Damage]]:
    """Content, offset after the closing quote (None if it never comes) and damages of the string at `start`.

    A damage is (subtype of `json_syntax`, start, end, lossless). The opening quote may be escaped (`\\"`), single,
    curly or full-width; the closing one is its counterpart.
    """
    if undamaged := _CLEAN.match(text, start):
        return undamaged[1], undamaged.end(), []
    if text.startswith('\\"', start):
        close = text.find('\\"', start + 2)
        damage = ("literal_escape", start, start + 2, False)
        return text[start + 2 : max(close, start + 2)], close + 2 if close >= 0 else None, [damage]
    opener = text[start]
    damages: list[Damage] = []
    content, end = _body(text, start + 1, _CLOSER[opener], damages)
    if opener == "'":
        damages.insert(0, ("single_quotes", start, start + 1, True))
    elif opener != '"':
        clean = opener == "“" and "“" not in content
        damages.insert(0, ("fullwidth", start, start + 1, clean))
    return content, end, damages


def _body(text: str, position: int, close: str, damages: list[Damage]) -> tuple[str, int | None]:
    parts: list[str] = []
    control = False
    while True:
        match = _PLAIN[close].match(text, position)
        if match:
            parts.append(match.group())
            position = match.end()
        if position >= len(text):
            return "".join(parts), None
        char = text[position]
        if char == close:
            return "".join(parts), position + 1
        if char == "\\":
            piece, position = _escape(text, position, close, damages)
            parts.append(piece)
            continue
        if not control:
            damages.append(("control_char", position, position + 1, True))
            control = True
        parts.append(char)
        position += 1


def _escape(text: str, position: int, close: str, damages: list[Damage]) -> tuple[str, int]:
    char = text[position + 1 : position + 2]
    if char in _ESCAPES and char:
        return _ESCAPES[char], position + 2
    if char == close:
        return char, position + 2
    if char == "u" and (match := _HEX.match(text, position + 2)):
        code = int(match.group(), 16)
        low = _HEX.match(text, position + 8) if text.startswith("\\u", position + 6) else None
        if 0xD800 <= code < 0xDC00 and low and 0xDC00 <= (second := int(low.group(), 16)) < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)), position + 12
        return chr(code), position + 6
    if char:
        damages.append(("bad_escape", position, position + 2, False))
    return "\\", position + 1
