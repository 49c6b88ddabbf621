"""Token ids and counts of logged prompts, exact as the engine sees them, each distinct piece tokenised once.

A tokenizer cuts a text at its special tokens before anything else, so that what stands between two of them becomes the
same ids wherever it stands. Prompts of a log share most of these pieces.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tokenizers import Tokenizer

from evalsets.items import Toolset
from evalsets.records import InputError
from pipelines.serving.request_log import LoggedRequest
from quantize.chat_template import ChatTemplate

MARK = "\ue000"  # a private-use character: no prompt holds it
# Kept at most: a conversation's pieces return within its few turns, a stamped head within its minute.
PIECES, HEADS = 30_000, 2_000
Ids: TypeAlias = "array[int]"  # unsigned, 32 bits
V = TypeVar("V")


@dataclass(frozen=True)
class Prompt:
    """A request as text. `head` is all of it before the first user's words: system text and tools."""

    head: str
    text: str


class PromptTokens:
    """A checkpoint's tokenizer and template at work on a log. Toolsets that rows name are looked up in `toolsets`."""

    def __init__(self, checkpoint: Path, toolsets: Mapping[str, Toolset]) -> None:
        self._template = ChatTemplate(checkpoint)
        self._tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        special = [token.content for token in self._tokenizer.get_added_tokens_decoder().values()]
        self._cut = re.compile(f"({'|'.join(map(re.escape, sorted(special, key=len, reverse=True)))})")
        self._toolsets = {name: [tool.model_dump() for tool in found.tools] for name, found in toolsets.items()}
        self._pieces: OrderedDict[bytes, Ids] = OrderedDict()
        self._heads: OrderedDict[bytes, str] = OrderedDict()

    def tools(self, request: LoggedRequest) -> list[dict[str, Any]] | None:
        """The tools that a request offers, as they were sent. Raises `InputError` for a toolset that is not there."""
        if not isinstance(request.tools, str):
            return request.tools
        if request.tools not in self._toolsets:
            raise InputError(
                f"session {request.session} turn {request.turn}: no toolset {request.tools!r}; name the file that "
                "holds it with --toolsets, or log the tools themselves"
            )
        return self._toolsets[request.tools]

    def prompt(self, request: LoggedRequest) -> Prompt:
        """The rendered request. Raises `InputError` where the template refuses it."""
        where = f"session {request.session} turn {request.turn}"
        chat, sent = request.chat(), self.tools(request)
        tools = None if sent is None else [_as_rendered(tool, where) for tool in sent]
        try:
            text = self._template.text(chat, tools)
            return Prompt(self._head(chat, tools, text), text)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from None

    def ids(self, text: str) -> Ids:
        """The token ids of a rendered text, or of a part that begins and ends at special tokens."""
        found = array("I")
        for piece in self._cut.split(text):
            if piece:
                found.extend(self._piece(piece))
        return found

    def count(self, text: str) -> int:
        """How many tokens `ids` has."""
        return sum(len(self._piece(piece)) for piece in self._cut.split(text) if piece)

    def _piece(self, piece: str) -> Ids:
        key = hashlib.blake2b(piece.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if (found := self._pieces.get(key)) is None:
            found = array("I", self._tokenizer.encode(piece, add_special_tokens=False).ids)
            _keep(self._pieces, key, found, PIECES)
        return found

    def _head(self, chat: list[dict[str, Any]], tools: list[dict[str, Any]] | None, text: str) -> str:
        before = list(takewhile(lambda message: message["role"] != "user", chat))
        key = hashlib.blake2b(json.dumps([before, tools]).encode(), digest_size=16).digest()
        if (head := self._heads.get(key)) is None:
            # Templates may insist on a user's turn: one is given and cut off again.
            head = self._template.text([*before, {"role": "user", "content": MARK}], tools).partition(MARK)[0]
            _keep(self._heads, key, head, HEADS)
        # A template may put tools behind earlier turns. Where the head ends within a piece, the piece is not in it.
        common = head if text.startswith(head) else _common(head, text)
        return common[: max((found.end() for found in self._cut.finditer(common)), default=0)]


def _as_rendered(tool: dict[str, Any], where: str) -> dict[str, Any]:
    # The engine's API puts a tool's own keys in one order and drops those it does not know; the schema stays as sent.
    function = tool.get("function")
    if not isinstance(function, dict) or "name" not in function:
        raise InputError(f"{where}: a tool without function.name; log tools as the OpenAI API takes them")
    strict = {} if function.get("strict") is None else {"strict": function["strict"]}
    known = {key: function.get(key) for key in ("name", "description", "parameters")}
    return {"type": "function", "function": known | strict}


def _common(first: str, second: str) -> str:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(mark for mark, _ in same)


def _keep(kept: OrderedDict[bytes, V], key: bytes, value: V, at_most: int) -> None:
    kept[key] = value
    if len(kept) > at_most:
        kept.popitem(last=False)
