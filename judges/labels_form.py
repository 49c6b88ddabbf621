"""The labels of an answer's form: whether it calls at all, how the call is wrapped, whether it is JSON."""

from __future__ import annotations

from judges.labels import Form, Label

_AMOUNT = '{"amount": 12900}'
_CALL = '{"name": "refund", "arguments": {"amount": 12900}}'
_TAGGED = f"<tool_call>\n{_CALL}\n</tool_call>"
_TWO = '[{"qty": 1}, {"qty": 2}]'


def _envelope(name: str, definition: str, example: str, near_miss: str = _TAGGED, form: Form = "hermes") -> Label:
    return Label("envelope", name, definition, _AMOUNT, example, near_miss, "ok", form)


def _syntax(name: str, definition: str, gold: str, example: str, near_miss: str, near_miss_is: str = "ok") -> Label:
    return Label(
        "json_syntax", f"json_syntax.{name}", definition, gold, example, near_miss, near_miss_is, family="json_syntax"
    )


FORM_LABELS: tuple[Label, ...] = (
    Label("infra", "infra", "No answer was had: the server, the network or the time limit failed. Never judged."),
    Label(
        "output",
        "garbage",
        "No sequence of three JSON tokens where a call should be, one token repeated to the end, or over 64 kB.",
        _AMOUNT,
        '{"{"amamountount":": " "12129900"}"}',
        '{"amount": 12900,}',
        "json_syntax.trailing_comma",
    ),
    Label(
        "output", "truncated", "The token cap was reached, whatever finish_reason says, and the answer is not right."
    ),
    Label(
        "decision",
        "no_call",
        "A call is wanted and none is attempted; an empty completion too.",
        _AMOUNT,
        "I will refund 12900 now.",
        f"I will refund 12900 now.\n{_TAGGED}",
        form="hermes",
    ),
    Label(
        "decision",
        "call_unneeded",
        "No call is wanted and one is attempted, well-formed or not. JSON shown inside prose is an example.",
        "none",
        "<tool_call>\n{refund",
        f"A call looks like this: {_CALL}. Which order do you mean?",
        form="hermes",
    ),
    _envelope("tag_missing", "The call lacks the dialect's tags, or its opening one.", _CALL),
    _envelope("tag_wrong", "The call stands in other tags than the dialect's.", f"<tools>{_CALL}</tools>"),
    _envelope("tag_unclosed", "The closing tag never comes.", f"<tool_call>{_CALL}"),
    _envelope("tag_dup", "A tag is written twice.", f"<tool_call><tool_call>{_CALL}</tool_call>"),
    _envelope("stray_close_tag", "A closing tag closes nothing.", f"{_TAGGED}\n</tool_call>"),
    _envelope("markdown_fence", "The call stands in a Markdown fence.", f"```json\n{_CALL}\n```"),
    _envelope("text_around", "Text before or after a call that has no tags.", f"Sure: {_CALL}", _CALL, "bare"),
    _envelope("list", "The calls stand in a JSON list.", f"[{_CALL}]", _CALL, "bare"),
    _envelope("inner_format", "Another call format inside the tags.", "<tool_call>refund(amount=12900)</tool_call>"),
    _envelope(
        "args_envelope",
        "The arguments stand under one more key (`arguments`, `parameters`, `properties`) that is not declared.",
        '{"arguments": {"amount": 12900}}',
        _AMOUNT,
        "arguments",
    ),
    _envelope("args_not_object", "The arguments are no object.", "[12900]", _AMOUNT, "arguments"),
    _envelope(
        "key_alias",
        "Another key stands for `name` or `arguments`.",
        '{"name": "refund", "parameters": {"amount": 12900}}',
        _CALL,
        "bare",
    ),
    _envelope(
        "double_encoded",
        "The arguments as a whole are a JSON string of JSON.",
        '"{\\"amount\\": 12900}"',
        _AMOUNT,
        "arguments",
    ),
    _envelope("in_think", "The call stands in a think block that is never closed.", f"<think>\nRefund it.\n{_TAGGED}"),
    _syntax("trailing_comma", "A comma before a closer.", _AMOUNT, '{"amount": 12900,}', _AMOUNT),
    _syntax("extra_comma", "A comma that separates nothing, elsewhere.", _AMOUNT, '{"amount": 12900},', _AMOUNT),
    _syntax(
        "missing_comma",
        "No comma between two members or items.",
        '{"qty": 1, "page": 2}',
        '{"qty": 1 "page": 2}',
        '{"qty": 1,\n"page": 2}',
    ),
    _syntax("extra_brace", "A closer or opener too many.", _AMOUNT, '{"amount": 12900}}', '{"amount": 12900}\n'),
    _syntax(
        "missing_brace", "A closer lacks.", '{"ids": [1]}', '{"ids": [1]', '{"ids": [1}]', "json_syntax.bracket_order"
    ),
    _syntax(
        "bracket_order",
        "Closers in the wrong order or of the wrong sort.",
        '{"ids": [1]}',
        '{"ids": [1}]',
        '{"ids": [1]]}',
        "json_syntax.extra_brace",
    ),
    _syntax(
        "single_quotes",
        "Single quotes for double ones.",
        '{"note": "x"}',
        "{'note': 'x'}",
        '{"note": "\'x\'"}',
        "value_wrong",
    ),
    _syntax(
        "python_literal",
        "True, False, None, or a number as only Python spells it.",
        '{"urgent": true}',
        '{"urgent": True}',
        '{"urgent": "True"}',
        "type_error",
    ),
    _syntax("unquoted_key", "A key without quotes.", _AMOUNT, "{amount: 12900}", '{"Amount": 12900}', "key_case"),
    _syntax(
        "unquoted_value",
        "A string value without quotes.",
        '{"note": "ab c"}',
        '{"note": ab c}',
        '{"note": ab c"}',
        "json_syntax.missing_quote",
    ),
    _syntax(
        "unescaped_quote",
        "A quote inside a string that should be escaped.",
        '{"note": "备注"加急"二字"}'.replace('"加急"', '\\"加急\\"'),
        '{"note": "备注"加急"二字"}',
        '{"note": "备注\\"加急\\"二字"}',
    ),
    _syntax(
        "control_char",
        "A raw control character inside a string.",
        '{"note": "a\\nb"}',
        '{"note": "a\nb"}',
        '{"note": "a\\nb"}',
    ),
    _syntax(
        "bad_escape",
        "A backslash before a character that JSON does not escape.",
        '{"note": "C:\\\\Users"}',
        '{"note": "C:\\Users"}',
        '{"note": "C:\\\\Users"}',
    ),
    _syntax(
        "missing_quote",
        "A quote lacks at one end of a string.",
        '{"note": "x", "qty": 1}',
        '{"note": "x, "qty": 1}',
        '{"note": "x" "qty": 1}',
        "json_syntax.missing_comma",
    ),
    _syntax(
        "missing_colon",
        "No colon between a key and its value, or another sign.",
        _AMOUNT,
        '{"amount" 12900}',
        '{"amount" : 12900}',
    ),
    _syntax(
        "concatenated",
        "Several JSON values in a row where one should be.",
        _TWO,
        '{"qty": 1}{"qty": 2}',
        '{"qty": 1}',
        "missing_call",
    ),
    _syntax(
        "trailing_text",
        "Text after a complete value.",
        _AMOUNT,
        '{"amount": 12900}\n✿RESULT✿',
        '{"amount": 12900}]',
        "json_syntax.extra_brace",
    ),
    _syntax(
        "fullwidth",
        "Full-width punctuation, curly quotes or full-width digits as structure.",
        _AMOUNT,
        '{"amount"：12900}',
        '{"amount": "１２９００"}',
        "type_error",
    ),
    _syntax("duplicate_key", "A key occurs twice in one object.", '{"qty": 2}', '{"qty": 1, "qty": 2}', '{"qty": 2}'),
    _syntax("nonfinite", "NaN or Infinity.", _AMOUNT, '{"amount": NaN}', '{"amount": null}', "type_error"),
    _syntax("leading_zero", "A number with leading zeros.", '{"qty": 7}', '{"qty": 007}', '{"qty": 7}'),
    _syntax(
        "thousands_sep",
        "A separator between the digit groups of a number.",
        _AMOUNT,
        '{"amount": 12,900}',
        '{"ids": [12,900]}',
        "missing_key",
    ),
    _syntax(
        "unit",
        "A unit, percent or currency sign at a bare number.",
        _AMOUNT,
        '{"amount": 12900元}',
        '{"amount": "12900元"}',
        "type_error",
    ),
    _syntax(
        "special_token",
        "A special token of the template outside a string.",
        '{"note": "x"}',
        '{"note": <|"|>x<|"|>}',
        '{"note": "<|x|>"}',
        "value_wrong",
    ),
    _syntax(
        "literal_escape", "A backslash escape outside a string.", '{"ids": [1]}', '{"ids": \\n[1]}', '{"ids": \n[1]}'
    ),
    _syntax(
        "not_json",
        "JSON at first, then a comment, a lacking value, or damage that no rule explains.",
        _AMOUNT,
        '{"amount": 12900 /* yuan */}',
        '{"amount": refund}',
        "json_syntax.unquoted_value",
    ),
)
