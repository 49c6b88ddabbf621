"""Chat templates as checkpoints carry them: from messages and tools to prompt text and token ids.

The engine renders prompts itself; this is the same rendering without it, so that a prompt's token ids are known
before a server starts and can be checked against what the server says it saw.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from quantize.recipe import RecipeError


class ChatTemplate:
    """A checkpoint's tokenizer and chat template.

    The template is `chat_template.jinja`, or the `chat_template` of `tokenizer_config.json` where older checkpoints
    keep it. Raises `RecipeError` for a folder that has none.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        # Block trimming, sandbox and `tojson` as transformers sets them: key order kept, no ASCII escapes.
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
        environment.globals["raise_exception"] = _refuse
        source = _template_text(checkpoint)
        self.sha256 = hashlib.sha256(source.encode()).hexdigest()
        self._template = environment.from_string(source)

    def text(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, answer: bool = True) -> str:
        """The prompt's text. `answer` ends it where the assistant's answer begins."""
        parsed = [_with_parsed_arguments(message) for message in messages]
        return self._template.render(messages=parsed, tools=tools or None, add_generation_prompt=answer)

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
    config = json.loads((checkpoint / "tokenizer_config.json").read_text("utf-8"))
    template = config.get("chat_template")
    if not isinstance(template, str):
        raise RecipeError(f"{checkpoint}: no chat template; save one there as chat_template.jinja")
    return template


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
