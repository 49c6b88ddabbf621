"""The labels of an answer's content: which calls, which keys, which types, which values, and answers to questions."""

from __future__ import annotations

from typing import Literal

from judges.labels import Label, Stage

_AMOUNT = '{"amount": 12900}'
_ORDER = '{"orderNo": "SO-20240017"}'
_TWO = '[{"qty": 1}, {"qty": 2}]'
Family = Literal["numbers", "identifiers", "keys_and_enums"]


def _native(*arguments: str, name: str = "refund") -> str:
    calls = ", ".join(f'{{"name": "{name}", "arguments": {one}}}' for one in arguments)
    return f"[{calls}]"


def _set(name: str, definition: str, gold: str, example: str, near_miss: str, near_miss_is: str = "ok") -> Label:
    return Label("call_set", name, definition, gold, example, near_miss, near_miss_is, "tool_calls")


def _name(name: str, definition: str, called: str, other: str, other_is: str) -> Label:
    example, near_miss = _native(_AMOUNT, name=called), _native(_AMOUNT, name=other)
    return Label("tool_name", name, definition, _AMOUNT, example, near_miss, other_is, "tool_calls")


def _inside(
    stage: Stage,
    name: str,
    definition: str,
    texts: tuple[str, str, str],
    near_miss_is: str = "ok",
    family: Family | None = None,
) -> Label:
    gold, example, near_miss = texts
    return Label(stage, name, definition, gold, example, near_miss, near_miss_is, "arguments", family)


def _qa(name: str, definition: str, answer: str, near_miss: str, near_miss_is: str = "ok") -> Label:
    return Label("answer", name, definition, "299", answer, near_miss, near_miss_is, "qa")


CONTENT_LABELS: tuple[Label, ...] = (
    _set(
        "missing_call", "A wanted call is not made.", _TWO, _native('{"qty": 1}'), _native('{"qty": 2}', '{"qty": 1}')
    ),
    _set("extra_call", "A call too many.", '{"qty": 1}', _native('{"qty": 1}', '{"qty": 2}'), _native('{"qty": 1}')),
    _set(
        "duplicate_call",
        "A call too many that repeats another one.",
        '{"qty": 1}',
        _native('{"qty": 1}', '{"qty": 1}'),
        _native('{"qty": 1}', '{"qty": 2}'),
        "extra_call",
    ),
    Label("call_set", "call_order", "The right calls in another order, where the item asks for one (`order: strict`)."),
    _name("tool_name_case", "The wanted name but for letter case, `_` and `-`.", "Refund", "cancel", "wrong_tool"),
    _name(
        "tool_name_polluted",
        "The wanted name with something glued to it.",
        "refund<|channel|>json",
        "refund_all",
        "hallucinated_tool",
    ),
    _name("wrong_tool", "Another declared tool.", "cancel", "cancel_all", "hallucinated_tool"),
    _name("hallucinated_tool", "A tool that is not declared.", "refund_order", "cancel", "wrong_tool"),
    _inside(
        "keys",
        "key_case",
        "A key of gold but for letter case, `_` and `-`.",
        (_ORDER, '{"order_no": "SO-20240017"}', '{"order_id": "SO-20240017"}'),
        "key_renamed",
        "keys_and_enums",
    ),
    _inside(
        "keys",
        "key_renamed",
        "A key of gold is missing, and one undeclared key holds exactly its value.",
        (_ORDER, '{"id": "SO-20240017"}', '{"id": "SO-1"}'),
        "missing_key",
        "keys_and_enums",
    ),
    _inside(
        "keys",
        "missing_key",
        "A key of gold is missing. One whose value is the schema's default may be.",
        ('{"qty": 2, "page": 1}', "{}", '{"qty": 2}'),
    ),
    _inside(
        "keys",
        "extra_key",
        "A key that the tool does not declare.",
        (_AMOUNT, '{"amount": 12900, "why": "x"}', '{"amount": 12900, "note": "x"}'),
        "value_wrong",
        "keys_and_enums",
    ),
    _inside(
        "type",
        "stringified",
        "A string that holds the right value as JSON, or an encoded array or object.",
        (_AMOUNT, '{"amount": "12900"}', '{"amount": "12901"}'),
        "type_error",
    ),
    _inside(
        "type",
        "int_as_float",
        "The right integer, not spelled as one, where the schema says integer.",
        ('{"qty": 1000}', '{"qty": 1e3}', '{"qty": 1000}'),
    ),
    _inside(
        "type",
        "null_vs_absent",
        "null for a declared key that gold omits.",
        (_AMOUNT, '{"amount": 12900, "note": null}', '{"amount": 12900, "note": "null"}'),
        "null_string",
    ),
    _inside(
        "type",
        "type_error",
        "A value of another JSON type than the schema allows.",
        ('{"note": "7"}', '{"note": 7}', '{"note": "8"}'),
        "value_wrong",
    ),
    _inside(
        "value",
        "precision_loss",
        "Beyond 2^53: as many integer digits, the first 15 of them right.",
        ('{"qty": 3791411052119578828}', '{"qty": 3791411052119578600}', '{"qty": 379141105211957882}'),
        "lost_digits",
        "numbers",
    ),
    _inside(
        "value",
        "lost_digits",
        "A proper subsequence of gold's digits, at least half as long, with no fraction that gold lacks.",
        (_AMOUNT, '{"amount": 1290}', '{"amount": 12}'),
        "value_wrong",
        "numbers",
    ),
    _inside(
        "value",
        "float_drift",
        "Off by at most max(1e-9, 1e-6 |gold|), where gold or answer has a fraction.",
        (_AMOUNT, '{"amount": 12900.0000001}', '{"amount": 12900.0}'),
        "ok",
        "numbers",
    ),
    _inside(
        "value",
        "runaway_digits",
        "Twenty or more digits beyond gold's.",
        ('{"qty": 12}', '{"qty": 1234567890123456789012}', '{"qty": 123456}'),
        "value_wrong",
        "numbers",
    ),
    _inside(
        "value",
        "enum_case",
        "The right member of a closed set in another letter case.",
        ('{"status": "paid"}', '{"status": "PAID"}', '{"status": "pending"}'),
        "value_wrong",
        "keys_and_enums",
    ),
    _inside(
        "value",
        "enum_invalid",
        "A value outside the closed set.",
        ('{"status": "paid"}', '{"status": "settled"}', '{"status": "pending"}'),
        "value_wrong",
        "keys_and_enums",
    ),
    _inside(
        "value",
        "null_string",
        'The string "null" or "None" where null or nothing is wanted.',
        ('{"note": null}', '{"note": "None"}', '{"note": "none"}'),
        "value_wrong",
    ),
    _inside(
        "value",
        "date_format",
        "The same calendar date in another form that cannot be mistaken.",
        ('{"due": "2026-05-01"}', '{"due": "2026年5月1日"}', '{"due": "01/05/2026"}'),
        "value_wrong",
    ),
    _inside(
        "value",
        "id_drift",
        "An identifier (ASCII letters, digits, `-_.`; 8 characters or more, a digit, no date) one to four edits off.",
        (_ORDER, '{"orderNo": "SO-20240071"}', '{"orderNo": "SO-99999999"}'),
        "value_wrong",
        "identifiers",
    ),
    _inside(
        "value",
        "unicode_corrupt",
        "As long, with one character beyond ASCII one hexadecimal digit off.",
        ('{"note": "网络"}', '{"note": "网纜"}', '{"note": "网路"}'),
        "value_wrong",
    ),
    _inside(
        "value",
        "fullwidth_value",
        "Equal but for full-width letters, digits or punctuation.",
        (_ORDER, '{"orderNo": "ＳＯ-20240017"}', _ORDER),
    ),
    _inside(
        "value",
        "whitespace",
        "Equal but for white space.",
        (_ORDER, '{"orderNo": "SO-20240017 "}', '{"orderNo":  "SO-20240017" }'),
    ),
    _inside("value", "value_wrong", "Another value.", ('{"qty": 12}', '{"qty": 21}', '{"qty": 12}')),
    _qa("no_answer", "Nothing of the wanted kind is in the answer.", "I do not know.", "299"),
    _qa("several_answers", "More than one answer of the wanted kind.", "299 or 399", "299", "ok"),
    _qa("answer_wrong", "An answer of the wanted kind that is not right.", "399", "299", "ok"),
)
