"""Chat templates as checkpoints carry them: from messages and tools to prompt text and token ids.

The engine renders prompts itself; this is the same rendering without it, so that a prompt's token ids are known
before a server starts and can be checked against what the server says it saw.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from quantize.recipe import RecipeError


class ChatTemplate:
    """A checkpoint's tokenizer and chat template.

    The template is `chat_template.jinja`, or the `chat_template` of `tokenizer_config.json` where older checkpoints
    keep it. Raises `RecipeError` for a folder that lacks one of them.
    """

    def __init__(self, checkpoint: Path) -> None:
        if not (checkpoint / "tokenizer.json").exists():
            raise RecipeError(f"{checkpoint}: no tokenizer.json; save a fast tokenizer there")
        self._tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        # Block trimming, sandbox and `tojson` as transformers sets them: key order kept, no ASCII escapes.
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _refuse
        source = _template_text(checkpoint)
        self.sha256 = hashlib.sha256(source.encode()).hexdigest()
        self._template = environment.from_string(source)

    def text(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, answer: bool = True) -> str:
        """The prompt's text. `answer` ends it where the assistant's answer begins.

        Raises `ValueError` where the template cannot render the conversation, or refuses to.
        """
        parsed = [_with_parsed_arguments(message) for message in messages]
        try:
            return self._template.render(messages=parsed, tools=tools or None, add_generation_prompt=answer)
        except (TemplateError, TypeError) as error:
            raise ValueError(f"the chat template cannot render this conversation: {error}") from None

    def ids(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, answer: bool = True) -> list[int]:
        """The prompt's token ids, special tokens of the template recognised and none added."""
        return list(self._tokenizer.encode(self.text(messages, tools, answer), add_special_tokens=False).ids)

    def decode(self, ids: list[int]) -> str:
        """The text of token ids, special tokens kept."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=False))

    def token_id(self, token: str) -> int | None:
        """The id of one token's exact text, or None where the vocabulary lacks it."""
        found = self._tokenizer.token_to_id(token)
        return None if found is None else int(found)


def _template_text(checkpoint: Path) -> str:
    path = checkpoint / "chat_template.jinja"
    if path.exists():
        return path.read_text("utf-8")
    config = checkpoint / "tokenizer_config.json"
    template = json.loads(config.read_text("utf-8")).get("chat_template") if config.exists() else None
    if not isinstance(template, str):
        raise RecipeError(f"{checkpoint}: no chat template; save one there as chat_template.jinja")
    return template


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _with_parsed_arguments(message: dict[str, Any]) -> dict[str, Any]:
    # The API carries a call's arguments as JSON text; engines hand them to the template parsed.
    if not message.get("tool_calls"):
        return message
    calls = [
        call | {"function": call["function"] | {"arguments": json.loads(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return message | {"tool_calls": calls}


def _refuse(message: str) -> None:
    raise ValueError(f"the chat template refuses this conversation: {message}")
