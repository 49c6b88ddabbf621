"""Token ids by pieces are those of the whole prompt; heads end before the user's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.records import InputError
from pipelines.serving.prompt_tokens import PromptTokens
from quantize.chat_template import ChatTemplate
from tests.pipelines.serving.serving_material import generated, make_request, make_tool


def test_ids_by_pieces_are_those_of_the_whole(checkpoint: Path, tokens: PromptTokens) -> None:
    template = ChatTemplate(checkpoint)
    for request in generated(40):
        prompt, tools = tokens.prompt(request), tokens.tools(request)
        rendered = [
            {
                "type": "function",
                "function": {key: tool["function"][key] for key in ("name", "description", "parameters")},
            }
            for tool in tools or ()
        ]
        whole = template.ids(request.chat(), rendered)
        assert list(tokens.ids(prompt.text)) == whole
        assert tokens.count(prompt.text) == len(whole)


def test_a_head_holds_system_text_and_tools_and_no_word_of_the_user(tokens: PromptTokens) -> None:
    tools = [make_tool("look_up")]
    one, two = (tokens.prompt(make_request("Be brief.", user, tools=tools)) for user in ("first words", "other ones"))
    assert one.head == two.head
    assert "Be brief." in one.head and "look_up" in one.head and "words" not in one.head
    assert one.text.startswith(one.head) and one.head.endswith("<|im_start|>")


def test_a_prompt_without_system_text_has_a_head_all_the_same(tokens: PromptTokens) -> None:
    assert tokens.prompt(make_request()).head == "<|im_start|>"


def test_a_tools_own_keys_are_put_in_order_and_its_schema_is_not(tokens: PromptTokens) -> None:
    """As the engine's API does; tests/pipelines/serving/test_engine_replay.py compares with it."""
    schema = {"type": "object", "properties": {}}
    tool = make_tool("a", schema)
    turned = {"function": dict(reversed(tool["function"].items())) | {"unknown": 1}, "type": "function"}
    respelt = make_tool("a", dict(reversed(schema.items())))
    texts = [tokens.prompt(make_request(tools=[one])).text for one in (tool, turned, respelt)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("tools", "message"),
    [("nowhere", "no toolset 'nowhere'.*--toolsets"), ([{"name": "a"}], "without function.name")],
)
def test_tools_that_cannot_be_rendered_are_refused(tokens: PromptTokens, tools: object, message: str) -> None:
    with pytest.raises(InputError, match=f"session s1 turn 1: .*{message}"):
        tokens.prompt(make_request(tools=tools))


def test_a_conversation_that_the_template_refuses_is_named(tokens: PromptTokens) -> None:
    request = make_request(messages=[{"role": "tool", "content": "x"}, {"role": "user", "content": "y"}])
    with pytest.raises(InputError, match=r"session s1 turn 1: .*a tool cannot speak first"):
        tokens.prompt(request)
