"""The value of one `<parameter=key>`: raw text where the schema says string, JSON for any other type."""

from __future__ import annotations

from evalsets.records import Json
from judges.bare_words import classify, python_word
from judges.findings import Finding, evidence
from judges.json_reader import decode_whole
from judges.payload import OPENING, read_payload
from judges.schema import Place

# A scalar spelled in one of these ways was meant as JSON and is damaged; other text is of the wrong type.
_DAMAGED = {"thousands_sep", "unit", "leading_zero", "nonfinite", "fullwidth", "python_literal"}

_STRUCTURED = (*OPENING, "`")  # how the text of an array or object begins, damaged or not


def read_parameter(text: str, offset: int, place: Place, natural: bool) -> tuple[tuple[Json] | None, list[Finding]]:
    """The value as a 1-tuple (None where it cannot be read without loss) and what is wrong with it.

    `text` stands at `offset` in the raw text; one newline on each side of it is layout. `place` is what the schema
    says of the key; where it says nothing, JSON is read as JSON and anything else as text.
    """
    span = (offset, offset + len(text))
    text = _less_newlines(text)
    types = place.types()
    plain = decode_whole(text)
    if "string" in types or (not types and plain is None):
        return ((None,) if "null" in types and text.strip() == "null" else (text,)), []
    if plain is not None:
        return plain, []
    if types and not (types & {"object", "array"} and text.lstrip()[:1] in _STRUCTURED):
        return _scalar(text, span)
    payload = read_payload(text, 0, len(text), natural)
    found = [Finding(f.kind, got=f.got, span=span, recovery=f.recovery) for f in payload.findings]
    value = (payload.values[0][0],) if payload.readable and len(payload.values) == 1 else None
    return value, found


def _scalar(text: str, span: tuple[int, int]) -> tuple[tuple[Json] | None, list[Finding]]:
    word = text.strip()
    if known := python_word(word):
        return known, [Finding("json_syntax.python_literal", got=word, span=span, recovery="python_literal")]
    kind = classify(word)
    if kind in _DAMAGED:
        return None, [Finding(f"json_syntax.{kind}", got=evidence(word), span=span)]
    return (text,), []


def _less_newlines(text: str) -> str:
    """The text less one line break on each side."""
    text = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")
