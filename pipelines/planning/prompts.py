"""How long the prompts of a run are: counted with a checkpoint's tokenizer and template, else by their characters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from evalsets.items import Item, Suite, ToolItem, Toolset
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError
from pipelines.params import SuiteSettings
from pipelines.serving.capacity import Request
from pipelines.serving.generate_log import LogGenerator, Traffic
from pipelines.serving.generated_texts import SuiteTexts
from pipelines.serving.load.settings import LoadSettings
from pipelines.serving.load.trace import log_rows, make_trace
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.request_log import LoggedRequest, LogSource, read_log
from quantize.chat_template import ChatTemplate

# Tokens per character, of wide ones (Chinese) and of others, markup of messages and tools included. Least squares of
# Qwen2.5's counts over both suites; it gives 104 % of the counted tokens of the questions and 97 % of the tool calls.
WIDE, OTHER = 1.0, 0.3
FIRST_WIDE = "\u2e80"
Messages = Sequence[Mapping[str, Any]]
Tools = Sequence[Mapping[str, Any]] | None


@dataclass(frozen=True)
class LoadSource:
    """A load test, and the suites and toolsets that its traffic is made from."""

    settings: LoadSettings
    suites: dict[Suite, SuiteSettings]
    toolsets: Path
    max_model_len: int

    @property
    def count(self) -> int:
        """Requests that the test needs."""
        return self.settings.requests * self.settings.repeats


def characters_as_tokens(text: str) -> int:
    """About how many tokens `text` is, 1 or more."""
    wide = sum(mark >= FIRST_WIDE for mark in text)
    return max(1, round(WIDE * wide + OTHER * (len(text) - wide)))


def suite_prompts(
    items: Mapping[Suite, Sequence[Item]], toolsets: Mapping[str, Toolset], checkpoint: Path | None
) -> dict[Suite, list[int]]:
    """Prompt tokens of every item, in order. Counted where there is a checkpoint, else estimated by characters.

    Raises `InputError` naming an item whose toolset is not there or whose prompt cannot be rendered.
    """
    template = None if checkpoint is None else ChatTemplate(checkpoint)
    return {suite: [_item_tokens(item, toolsets, template) for item in asked] for suite, asked in items.items()}


def load_requests(source: LoadSource, checkpoint: Path | None) -> list[Request]:
    """The requests of a load test: counted as the load stage will send them, or by their characters.

    Shared is what stands before the first user's words. Raises `InputError` where the log cannot be read, or has too
    few requests that fit the engine.
    """
    if checkpoint is not None:
        tokens = PromptTokens(checkpoint, load_toolsets(source.toolsets))
        rows = log_rows(source.settings, source.suites, source.toolsets, tokens)
        trace = make_trace(rows, tokens, source.count, source.max_model_len)
        return [
            Request(row.prompt_tokens, row.output_tokens, row.prompt_tokens + row.output_tokens - row.own_tokens)
            for row in trace.requests
        ]
    known = load_toolsets(source.toolsets)
    found = list(islice(_fitting(_rows(source, known), known, source.max_model_len), source.count))
    if len(found) < source.count:
        raise InputError(
            f"load: {source.count} requests are wanted, the log has about {len(found)} that fit "
            f"{source.max_model_len} tokens; give a longer log, or raise engine.max_model_len"
        )
    return found


def _rows(source: LoadSource, known: Mapping[str, Toolset]) -> Iterable[LoggedRequest]:
    if source.settings.log is not None:
        return read_log(LogSource(source.settings.log))
    items: list[Item] = [
        item for suite, part in source.suites.items() for item in load_suite(Path(part.path), suite, None)
    ]
    traffic = Traffic(**source.settings.traffic.model_dump())
    texts = SuiteTexts(items, list(traffic.scenes))
    # As many as the load stage looks at, at most.
    return islice(LogGenerator(traffic, texts, known, characters_as_tokens).rows(), source.count * 4)


def _fitting(rows: Iterable[LoggedRequest], known: Mapping[str, Toolset], most: int) -> Iterator[Request]:
    for row in rows:
        chat = row.chat()
        tools = _sent(known, row.tools) if isinstance(row.tools, str) else row.tools
        shared = list(takewhile(lambda message: message["role"] != "user", chat))
        prompt, answer = _characters(chat, tools), max(row.output_tokens, 1)
        if prompt + answer <= most:
            yield Request(prompt, answer, min(prompt, _characters(shared, tools)))


def _item_tokens(item: Item, known: Mapping[str, Toolset], template: ChatTemplate | None) -> int:
    messages = [message.model_dump(exclude_none=True) for message in item.messages]
    tools = _sent(known, item.toolset) if isinstance(item, ToolItem) else None
    if template is None:
        return _characters(messages, tools)
    try:
        return len(template.ids(messages, tools))
    except ValueError as error:
        raise InputError(f"{item.id}: no prompt can be made of its messages ({error}); correct the item") from None


def _sent(known: Mapping[str, Toolset], name: str) -> list[dict[str, Any]]:
    if name not in known:
        raise InputError(f"no toolset {name!r}; there are: {', '.join(sorted(known))}")
    return [tool.model_dump() for tool in known[name].tools]


def _characters(messages: Messages, tools: Tools) -> int:
    return characters_as_tokens(json.dumps([messages, tools], ensure_ascii=False))
