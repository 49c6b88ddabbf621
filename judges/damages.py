"""Ways to damage the JSON of a right call, each with the label that the judge must give it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from evalsets.records import Json
from judges.golds import call_text, render
from judges.scalars import is_number

Arguments = Mapping[str, Json]

_PLAIN_WORDS = re.compile(r"[A-Za-z\u4e00-\u9fff][A-Za-z\u4e00-\u9fff ]*\Z")
_WORDS = {"true", "false", "null", "none", "nan", "inf", "infinity"}


def damaged(name: str, arguments: Arguments) -> list[tuple[str, str]]:
    """Every damage that applies to a call: (subtype of `json_syntax`, the damaged JSON text of the call)."""
    whole = call_text(name, arguments)
    found = [(kind, change(whole)) for kind, change in _ANYWHERE.items()]
    if whole.endswith("]}}"):
        found.append(("bracket_order", whole[:-3] + "}]}"))
    for key, value in arguments.items():
        for kind, literal in _literals(value):
            found.append((kind, call_text(name, arguments, {key: literal})))
    return found


_ANYWHERE: dict[str, Callable[[str], str]] = {
    "trailing_comma": lambda text: text[:-1] + ",}",
    "extra_comma": lambda text: text.replace(', "arguments"', ',, "arguments"', 1),
    "missing_comma": lambda text: text.replace(', "arguments"', ' "arguments"', 1),
    "missing_colon": lambda text: text.replace('"arguments":', '"arguments"', 1),
    "extra_brace": lambda text: text + "}",
    "missing_brace": lambda text: text[:-1],
    "single_quotes": lambda text: text.replace('"name"', "'name'", 1),
    "unquoted_key": lambda text: text.replace('"name"', "name", 1),
    "fullwidth": lambda text: text.replace('"arguments":', '"arguments"：', 1),
    "duplicate_key": lambda text: text.replace("{", '{"name": "", ', 1),
    "special_token": lambda text: text.replace("{", "{<|im_start|>", 1),
    "literal_escape": lambda text: text.replace("{", "{\\n", 1),
    "not_json": lambda text: text.replace("{", "{/* call */", 1),
}


def _literals(value: Json) -> list[tuple[str, str]]:
    """Damaged spellings of one argument's value, with their labels."""
    if isinstance(value, bool):
        return [("python_literal", str(value))]
    if isinstance(value, int | Decimal) and is_number(value):
        return _numbers(render(value))
    if not isinstance(value, str):
        return []
    found = [
        ("bad_escape", f'"\\q{render(value)[1:]}'),
        ("unescaped_quote", f'"{render(value)[1:-1]} a"b"c"'),
        ("missing_quote", render(value)[:-1]),
    ]
    if _PLAIN_WORDS.match(value) and value.lower() not in _WORDS:
        found.append(("unquoted_value", value))
    if "\n" in value:
        found.append(("control_char", render(value).replace("\\n", "\n")))
    return found


def _numbers(literal: str) -> list[tuple[str, str]]:
    found = [("nonfinite", "NaN"), ("unit", f"{literal}元")]
    whole = re.match(r"[1-9][0-9]*", literal)
    if whole and "e" not in literal.lower():
        found.append(("leading_zero", f"00{literal}"))
        if len(whole.group()) > 3:
            found.append(("thousands_sep", f"{int(whole.group()):,}{literal[whole.end() :]}"))
    return found
