"""Prompts rendered without an engine: the same text and the same ids as the libraries that engines render with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quantize.chat_template import ChatTemplate
from quantize.recipe import RecipeError
from tests.pipelines.engine.tiny_checkpoint import SPECIAL, TEMPLATE, make_checkpoint

ROOT = Path(__file__).parents[2]
LLMCOMPRESSOR = ROOT / ".venvs" / "llmcompressor" / "bin" / "python"
REFUND = {
    "type": "function",
    "function": {
        "name": "refund",
        "description": "退款 <now> & 'here'",
        "parameters": {"type": "object", "properties": {"z": {"type": "number"}, "a": {"type": "string"}}},
    },
}
CALL: dict[str, Any] = {
    "id": "1",
    "type": "function",
    "function": {"name": "refund", "arguments": '{"z": 12.50, "a": "退"}'},
}
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "one turn": [{"role": "user", "content": "你好"}],
    "two turns": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi <|im_end|> \n\n"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "  Bye  "},
    ],
    "a call": [
        {"role": "user", "content": "Refund."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": '{"ok": true}'},
    ],
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    make_checkpoint(folder)
    return folder


@pytest.fixture(scope="module")
def template(checkpoint: Path) -> ChatTemplate:
    return ChatTemplate(checkpoint)


def test_a_prompt_ends_where_the_answer_begins(template: ChatTemplate) -> None:
    prompt = "<|im_start|>user\n你好<|im_end|>\n"
    assert template.text(CONVERSATIONS["one turn"], None) == prompt + "<|im_start|>assistant\n"
    assert template.text(CONVERSATIONS["one turn"], None, answer=False) == prompt


def test_tools_are_shown_in_their_own_key_order_without_escapes(template: ChatTemplate) -> None:
    shown = json.dumps(REFUND, ensure_ascii=False)
    assert template.text(CONVERSATIONS["one turn"], [REFUND]).startswith(f"<|im_start|>system\nCall one of:\n{shown}<|")


@pytest.mark.parametrize("tools", [None, []])
def test_no_tools_is_no_tool_section(template: ChatTemplate, tools: list[dict[str, Any]] | None) -> None:
    assert "Call one of" not in template.text(CONVERSATIONS["one turn"], tools)


def test_arguments_reach_the_template_parsed(template: ChatTemplate) -> None:
    call = '<tool_call>\n{"name": "refund", "arguments": {"z": 12.5, "a": "退"}}\n</tool_call>'
    assert call in template.text(CONVERSATIONS["a call"], None)
    assert CALL["function"]["arguments"] == '{"z": 12.50, "a": "退"}'


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_ids_are_those_of_the_text_and_decode_to_it(template: ChatTemplate, content: str) -> None:
    messages = [{"role": "user", "content": content}]
    ids = template.ids(messages, None)
    assert template.decode(ids) == template.text(messages, None)
    assert ids[0] == template.token_id("<|im_start|>")


def test_special_tokens_are_one_id_each(template: ChatTemplate) -> None:
    ids = [template.token_id(text) for text in SPECIAL]
    assert None not in ids
    assert template.decode([token for token in ids if token is not None]) == "".join(SPECIAL)
    assert template.token_id("nonsense") is None


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([{"role": "tool", "content": "x"}], "a tool cannot speak first"),
        ([{"role": "user", "content": 5}], "cannot render this conversation"),
        ([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{oops"}}]}], "Expecting"),
    ],
)
def test_a_conversation_that_cannot_be_rendered(
    template: ChatTemplate, messages: list[dict[str, Any]], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        template.text(messages, None)


def test_the_template_may_lie_in_the_tokenizer_s_settings(tmp_path: Path, template: ChatTemplate) -> None:
    make_checkpoint(tmp_path)
    (tmp_path / "chat_template.jinja").unlink()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    assert ChatTemplate(tmp_path).sha256 == template.sha256


def test_lines_that_hold_only_a_block_leave_no_trace(tmp_path: Path) -> None:
    make_checkpoint(tmp_path)
    lines = [
        "{% for message in messages %}",
        "  {% if true %}",
        "x {{ message.content }}",
        "  {% endif %}",
        "{% endfor %}",
    ]
    (tmp_path / "chat_template.jinja").write_text("\n".join([*lines, "end", ""]))
    assert ChatTemplate(tmp_path).text([{"role": "user", "content": "1"}] * 2, None) == "x 1\nx 1\nend"


@pytest.mark.parametrize(
    ("name", "config", "says"),
    [
        ("tokenizer.json", None, "no tokenizer.json"),
        ("chat_template.jinja", None, "no chat template"),
        ("chat_template.jinja", "{}", "no chat template"),
        ("chat_template.jinja", '{"chat_template": []}', "no chat template"),
    ],
)
def test_a_folder_that_lacks_something_is_named(tmp_path: Path, name: str, config: str | None, says: str) -> None:
    make_checkpoint(tmp_path)
    (tmp_path / name).unlink()
    if config is not None:
        (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(RecipeError, match=f"{tmp_path}: {says}"):
        ChatTemplate(tmp_path)


# A template that uses what the tiny one does not: keywords of `tojson`, loop controls, blocks on lines of their own.
RICH = """\
{% for message in messages %}
    {%- if message.role == 'system' %}
        {%- continue %}
    {%- endif %}
    {% if loop.last %}
last:
    {% endif %}
{{ message.role }} {{ message.content }}
{% endfor %}
{{ tools | tojson(indent=2) if tools }}{{ tools | tojson(separators=(',', ':'), sort_keys=True) if tools }}
{{ tools | tojson(ensure_ascii=True) if tools }}{% if add_generation_prompt %}>{% endif %}
"""
TRANSFORMERS = """
import json, sys
from transformers import PreTrainedTokenizerFast
folder, template, cases = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
tokenizer = PreTrainedTokenizerFast(tokenizer_file=folder + "/tokenizer.json")
for messages, tools in cases:
    text = tokenizer.apply_chat_template(
        messages, tools=tools, chat_template=template, tokenize=False, add_generation_prompt=True
    )
    print(json.dumps([text, tokenizer.encode(text, add_special_tokens=False)]))
"""


@pytest.mark.heavy
@pytest.mark.parametrize("source", [TEMPLATE, RICH], ids=["tiny", "rich"])
def test_transformers_renders_the_same(tmp_path: Path, source: str) -> None:
    make_checkpoint(tmp_path)
    (tmp_path / "chat_template.jinja").write_text(source)
    template = ChatTemplate(tmp_path)
    cases = [(messages, tools) for messages in CONVERSATIONS.values() for tools in (None, [REFUND])]
    # The library takes parsed arguments, as engines hand them over.
    parsed = json.loads(json.dumps(cases).replace(json.dumps(CALL["function"]["arguments"]), '{"z": 12.5, "a": "退"}'))
    assert parsed != json.loads(json.dumps(cases))
    command = [str(LLMCOMPRESSOR), "-c", TRANSFORMERS, str(tmp_path), source, json.dumps(parsed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    theirs = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert [[template.text(*case), template.ids(*case)] for case in cases] == theirs
