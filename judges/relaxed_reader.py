"""A reader of almost-JSON that goes on after a local damage and records it.

It reads what `json_reader` refuses, to say what is wrong and where; it never guesses at the extent of a string or
the place of a closer. There it gets `Stuck`, and `judges.syntax` looks for the edit that explains the place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from evalsets.records import Json
from judges.bare_words import SPECIAL_TOKEN, classify, python_word
from judges.damage import Deviation, Stuck
from judges.json_reader import MAX_DEPTH, NUMBER, number, skip
from judges.strings_read import OPENERS, read_string

MAX_DEVIATIONS = 2000

_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"(?:true|false|null)(?![\w])")
_THOUSANDS = re.compile(r"-?[0-9]{1,3}(?:[,，][0-9]{3})+(?:\.[0-9]+)?(?=\s*(?:[}\],，｝]|\Z))")
_AFTER_NUMBER = re.compile(r"\s*(?:[,，}\]｝］]|//|/\*|<[|｜]|\Z)|\s+[\"{\[]")
_DELIMITER = re.compile(r"[,，}\]｝］\n]|\Z")
_MEMBER = re.compile(r"\s*(?:[\"'“}\]｝］]|[^\W\d][\w-]*\s*[:：=])")
_BARE_KEY = re.compile(r"([^\s:：=,，{}\[\]\"'“”]+)(\"?)(?=\s*[:：=])")
_NEXT_KEY = re.compile(r"\"[^\"\\\n]{0,200}\"\s*[:：]")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LITERAL_ESCAPE = re.compile(r"\\[nrt]")
_ODD_SPACE = "\u3000\u00a0\ufeff\u200b"
_PLAIN = frozenset('{}[]:,"-0123456789')  # what is most often next, and neither wide nor noise
_CLOSERS = {"{": "}", "[": "]"}
_WIDE = {"，": ",", "：": ":", "｛": "{", "｝": "}", "［": "[", "］": "]"}


@dataclass(slots=True)
class RelaxedReader:
    """Reads one value of `text`. `found` are the deviations so far, `clean_tokens` the JSON tokens before the first."""

    text: str
    position: int = 0
    found: list[Deviation] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    last_string: tuple[int, int] | None = None
    tokens: int = 0
    clean_tokens: int | None = None
    json_words: bool = False
    comma: int = 0

    def deviate(self, kind: str, start: int, end: int, lossless: bool = False) -> None:
        """Record a deviation. Raises `Stuck` after too many."""
        if self.clean_tokens is None:
            self.clean_tokens = self.tokens
        self.found.append(Deviation(kind, start, end, lossless))
        if len(self.found) > MAX_DEVIATIONS:
            raise self._stuck("many", start)

    def value(self) -> Json:
        """The value at the current position. Raises `Stuck`."""
        char = self._peek()
        if char in ("{", "["):
            if len(self.opened) >= MAX_DEPTH:
                raise self._stuck("depth")
            self._take(char)
            self.opened.append(char)
            value: Json = self._object() if char == "{" else self._array()
            self.opened.pop()
            return value
        if self.position < len(self.text) and self._opens_string():
            return self.string()
        if match := _WORD.match(self.text, self.position):
            self.position = match.end()
            self.tokens += 1
            self.json_words = True
            return _WORDS[match.group()]
        return self._scalar()

    def string(self) -> str:
        """The string whose opening quote is at the current position. Raises `Stuck` where it is never closed."""
        start = self.position
        content, end, damages = read_string(self.text, start)
        for damage in damages:
            self.deviate(*damage)
        if end is None:
            raise self._stuck("string", start)
        self.position = end
        self.last_string = (start, end)
        self.tokens += 1
        return content

    def _scalar(self) -> Json:
        start, in_object = self.position, self.opened[-1:] == ["{"]
        if in_object and (match := _THOUSANDS.match(self.text, start)):
            self.position = match.end()
            self.deviate("thousands_sep", start, match.end())
            return number(match.group().replace(",", "").replace("，", ""))
        match = NUMBER.match(self.text, start)
        if match and _AFTER_NUMBER.match(self.text, match.end()):
            self.position = match.end()
            self.tokens += 1
            return number(match.group())
        end = self._bare_end(in_object)
        word = self.text[start:end].strip()
        if not word and self._peek() not in ("," if in_object else "", _CLOSERS.get("".join(self.opened[-1:]), "")):
            raise self._stuck("value", start)
        kind = classify(word)
        if not self.opened and kind in ("unquoted_value", "missing_quote", "literal_escape", "special_token"):
            raise self._stuck("value", start)
        self.position = end
        self.deviate(kind, start, start + len(word), word in ("True", "False", "None"))
        self.tokens += 1
        known = python_word(word)
        return known[0] if known else word

    def _bare_end(self, in_object: bool) -> int:
        """Where a bare value ends: at a closer, a line end, or a comma (in an object only one before a member)."""
        position = self.position
        while True:
            match = _DELIMITER.search(self.text, position)
            end = match.start() if match else len(self.text)
            if end >= len(self.text) or self.text[end] not in ",，" or not in_object:
                return end
            if _MEMBER.match(self.text, end + 1):
                return end
            position = end + 1

    def _object(self) -> dict[str, Json]:
        members: dict[str, Json] = {}
        while not self._closes("}", members):
            start = self.position
            key = self._key()
            if key in members:
                self.deviate("duplicate_key", start, self.position)
            self._colon()
            members[key] = self.value()
            if not self._separator("object", "}"):
                break
        return members

    def _array(self) -> list[Json]:
        items: list[Json] = []
        while not self._closes("]", items):
            items.append(self.value())
            if not self._separator("array", "]"):
                break
        return items

    def _closes(self, closer: str, before: dict[str, Json] | list[Json]) -> bool:
        """Take the closer if it is next; record the comma before it. Surplus commas are taken and recorded."""
        while (char := self._peek()) == ",":
            self.deviate("extra_comma", self.position, self.position + 1)
            self.position += 1
        if char != closer:
            return False
        if before:
            self.deviate("trailing_comma", self.comma, self.comma + 1, True)
        self._take(closer)
        return True

    def _key(self) -> str:
        self._peek()
        if self.position < len(self.text) and self._opens_string():
            return self.string()
        match = _BARE_KEY.match(self.text, self.position)
        if not match:
            raise self._stuck("key")
        key, start = match.group(1), self.position
        self.position = match.end()
        self.tokens += 1
        if match.group(2):
            self.deviate("missing_quote", start, match.end())
        else:
            self.deviate("unquoted_key", start, match.end(), key.isidentifier())
        return key

    def _colon(self) -> None:
        char = self._peek()
        if char == ":":
            self._take(char)
        elif char in ("=", "＝"):
            length = 2 if self.text.startswith("=>", self.position) else 1
            self.deviate("missing_colon", self.position, self.position + length)
            self.position += length
        elif char and (char in OPENERS[:1] + "{[-" or char.isdigit() or _WORD.match(self.text, self.position)):
            self.deviate("missing_colon", self.position, self.position)
        else:
            raise self._stuck("colon")

    def _separator(self, state: str, closer: str) -> bool:
        """Take what follows a value: True after a comma (or where only that is missing), False after the closer."""
        char = self._peek()
        if char == ",":
            self.comma = self.position
            self._take(char)
            return True
        if char == closer:
            self._take(char)
            return False
        missing = _NEXT_KEY.match(self.text, self.position) if state == "object" else char in ('"', "{", "[")
        if missing and char:
            self.deviate("missing_comma", self.position, self.position)
            return True
        raise self._stuck(state)

    def _peek(self) -> str:
        """The next significant character with full-width structure folded to ASCII; empty at the end."""
        while True:
            char = self.text[self.position : self.position + 1]
            if char in " \t\n\r":  # the end too
                self.position = skip(self.text, self.position)
                if self.position >= len(self.text):
                    return ""
                char = self.text[self.position]
            if char in _PLAIN:
                return char
            if char in _WIDE:
                return _WIDE[char]
            length, kind = self._noise(char)
            if not length:
                return char
            self.deviate(kind, self.position, self.position + length)
            self.position += length

    def _noise(self, char: str) -> tuple[int, str]:
        """Length and kind of something at the current position that is no token of JSON at all; 0 if there is none."""
        if char in _ODD_SPACE:
            return 1, "fullwidth"
        if char == "/" and (match := _COMMENT.match(self.text, self.position)):
            return len(match.group()), "not_json"
        if char == "\\" and (match := _LITERAL_ESCAPE.match(self.text, self.position)):
            return 2, "literal_escape"
        if char == "<" and (match := SPECIAL_TOKEN.match(self.text, self.position)):
            return len(match.group()), "special_token"
        return 0, ""

    def _take(self, char: str) -> None:
        if self.text[self.position] != char:
            self.deviate("fullwidth", self.position, self.position + 1, True)
        self.position += 1
        self.tokens += 1

    def _stuck(self, state: str, position: int | None = None) -> Stuck:
        place = self.position if position is None else position
        return Stuck(place, state, "".join(self.opened), self.last_string)

    def _opens_string(self) -> bool:
        return self.text[self.position] in OPENERS or self.text.startswith('\\"', self.position)
