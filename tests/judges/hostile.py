"""Texts and objects that are made to break a parser: deep, long, repetitive, never closed, or closed too often."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

# What is written before, what is repeated, what follows: the unit fills a text of the wanted length.
_REPEATED: dict[str, tuple[str, str, str]] = {
    "nested arrays": ("", "[", ""),
    "nested objects": ("", '{"a":', ""),
    "nested both": ("", '{"a": [', ""),
    "90 levels, closed": ('{"name":"refund","arguments":{"ids":[', "[" * 90 + "]" * 90 + ",", "1]}}"),
    "90 levels, one closer short": ('{"name":"refund","arguments":{"ids":[', "[" * 90 + "]" * 89 + ",", "1]}}"),
    "closers": ('{"a": 1}', "}]", ""),
    "closers of the wrong sort": ("", '{"a":]', ""),
    "arrays closed as objects": ('{"name":"refund","arguments":[', '{"a":[1},', ""),
    "quotes": ('{"a": ', '" ', ""),
    "quotes alone": ("", '"', ""),
    "an open string of spaces": ('{"a": "', " ", "x"),
    "an open string of line breaks in a block": ('<tool_call>{"name": "refund", "arguments": {"note": "', "\n", "x"),
    "an open string of commas": ('{"a": "', ", ", "x"),
    "strings without commas": ('{"a": ', '"a" ', ""),
    "keys without values": ("{", '"a": ', ""),
    "members without commas": ('{"name":"refund","arguments":{', '"k" 1 ', ""),
    "unescaped quotes": ('{"name":"refund","arguments":{"note":"', 'say "hi", and ', '"}}'),
    "bad escapes": ('{"a": "', "\\q", '"}'),
    "cut escapes": ('{"a": "', "\\u12", '"}'),
    "escaped quotes": ("{", '\\"a\\": ', ""),
    "NUL in a string": ('{"name":"refund","arguments":{"note":"', "\x00", '"}}'),
    "NUL between tokens": ('{"name":"refund",', "\x00", '"arguments":{}}'),
    "lone surrogates": ('{"name":"refund","arguments":{"note":"', "\ud800\udfff\udc00", '"}}'),
    "combining marks": ('{"name":"refund","arguments":{"note":"', "e\u0301\u0327", '"}}'),
    "commas": ('{"a":1', ",", ""),
    "commas and spaces": ('{"a": x', ",    ", ""),
    "bare words": ('{"a": ', "aa bb, ", ""),
    "spaces": ('{"a"', " ", "c"),
    "single quotes": ("{", "'a': 1, ", "}"),
    "comments": ("{", "/*a*/", ""),
    "comments in comments": ("{", "/*", ""),
    "encoded objects": ('{"a"', ': "{}', ""),
    "a digit": ('{"name":"refund","arguments":{"amount":', "9", "}}"),
    "digits after the point": ('{"name":"refund","arguments":{"amount":0.', "9", "}}"),
    "integers of 5,000 digits": ('{"name":"refund","arguments":{"ids":[', "9" * 5000 + ",", "1]}}"),
    "huge exponents": ('{"name":"refund","arguments":{"ids":[', "1e999999999999,", "1]}}"),
    "objects in a row": ("", '{"type": 1}', ""),
    "damaged objects in a row": ("", '{"a":1,}', ""),
    "calls in a row": ("", '{"name": "refund", "arguments": {}}', ""),
    "damaged calls in a row": ("", '{"name":"refund","arguments":{"qty":1,}}', ""),
    "prose with a brace": ("text ", "{ ", ""),
    "prose with placeholders": ("", "The {order} was [refunded]. ", ""),
    "name and arguments, never closed": ("{", "name: ", " arguments"),
    "fences": ("", "```a\n```\n", ""),
    "fences with JSON": ("", '```json\n{"a":1}\n```\n', ""),
    "opening tags": ("", "<tool_call>", ""),
    "opening tags and text": ("", "<tool_call>x", ""),
    "opening tags and quotes": ("", '<tool_call>"', ""),
    "opening tags and braces": ("", "<tool_call>{", ""),
    "opening tags in pairs": ("", "<tool_call><tool_call>{}", ""),
    "blocks without closing tags": ("", "<tool_call>{}", ""),
    "blocks with damaged calls": ("", '<tool_call>{"name": "refund" "arguments": {"ids" [1 2]}}</tool_call>', ""),
    "blocks with open strings": ("", '<tool_call>{"a":"b</tool_call>', ""),
    "blocks of calls": ("", '<tool_call>{"name":"refund","arguments":{"amount":1}}</tool_call>', ""),
    "closing tags": ("<tool_call>{", "</tool_call>", ""),
    "closing tags of any sort": ('{"name":"refund","arguments":{}}', "</a>", ""),
    "end tokens": ("{}", "<eos>", ""),
    "halves of tokens": ("", "<|", ""),
    "special tokens": ("{", "<|im_start|>", ""),
    "think blocks": ("", "<think></think>", "x"),
    "think blocks in think blocks": ("", "<think>", "x"),
    "other tags in a think block": ("x<think>", "<tool_calls>", "</think> done"),
    "opening tags in think blocks": ("", "<think><tool_call>", ""),
    "functions": ("", "<function=refund>", ""),
    "functions closed": ("", "<function=refund></function>", ""),
    "functions with open parameters": ("", "<function=refund><parameter=a>x", ""),
    "functions closed, parameters open": ("", "<function=refund><parameter=a>1</function>", ""),
    "parameters never closed": ("<function=refund>", "<parameter=a>", ""),
    "parameters closed in their values": ("<function=refund>", "<parameter=a></parameter>x", ""),
    "parameters of damaged JSON": ("<tool_call><function=refund>", "<parameter=ids>[1,</parameter>", "</function>"),
    "closing tags after a function": ("<function=refund>", "</x>", ""),
    "a wave of spaces": ("a", " " * 200 + "b", ""),
}


def _many_keys(length: int) -> str:
    members = ", ".join(f'"k{index}": {index}' for index in range(length // 14))
    return f'{{"name": "refund", "arguments": {{{members}}}}}'


def _many_calls(length: int) -> str:
    arguments = (f'{{"qty": {index}}}' for index in range(length // 70))
    return "".join(f'<tool_call>{{"name": "refund", "arguments": {one}}}</tool_call>' for one in arguments)


def _wide_calls(length: int) -> str:
    members = ", ".join(f'"k{index}": {index}' for index in range(length // 64 // 14))
    return "\n".join([f'<tool_call>{{"name": "refund", "arguments": {{{members}}}}}</tool_call>'] * 64)


def _filled(name: str, length: int) -> str:
    before, unit, after = _REPEATED[name]
    return before + unit * max(1, (length - len(before) - len(after)) // len(unit)) + after


HOSTILE: dict[str, Callable[[int], str]] = {
    **{name: partial(_filled, name) for name in _REPEATED},
    "keys that nobody declared": _many_keys,
    "more calls than are compared": _many_calls,
    "64 wide calls": _wide_calls,
}


def _nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def hostile_entries(length: int) -> dict[str, list[Any]]:
    """`tool_calls` lists as no server should send them. `length` sets the size of what is long."""
    return {
        "10,000 levels": [{"name": "refund", "arguments": _nested(10_000)}],
        "400 levels in a known key": [{"name": "refund", "arguments": {"ids": _nested(400)}}],
        "an integer of 5,000 digits": [{"name": "refund", "arguments": {"amount": 10**5000 + 1}}],
        "an integer where text is wanted": [{"name": "refund", "arguments": {"note": -(10**5000)}}],
        "NaN": [{"name": "refund", "arguments": {"amount": float("nan"), "qty": float("-inf"), "note": float("inf")}}],
        "a long string": [{"name": "refund", "arguments": {"note": "x" * length}}],
        "a long text": [{"name": "refund", "arguments": '{"note": "' + "x" * length + '"}'}],
        "long names": [{"name": "refund" * (length // 6), "arguments": {"k" * length: 1}}],
        "surrogates and NUL": [{"name": "re\ud800fund", "arguments": {"no\x00te": "\udfff"}}],
        "many": [{"function": {"name": "refund", "arguments": "{}"}}] * (length // 40),
        "many objects": [{"name": "refund", "arguments": {"amount": index}} for index in range(length // 40)],
        "no calls": [None, 1, "refund", [], {}, {"function": None}, {"function": {"name": 1, "arguments": False}}],
        "a list for arguments": [{"name": "refund", "arguments": [{"amount": 1}] * (length // 20)}],
    }
