"""The traffic of a load test: prompts as the engine gets them, from a request log or generated from the suites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from evalsets.items import Item, Suite
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError, digest
from pipelines.params import SuiteSettings
from pipelines.serving.generate_log import LogGenerator, Traffic
from pipelines.serving.generated_texts import SuiteTexts
from pipelines.serving.load.settings import LoadSettings
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.request_log import LoggedRequest, LogSource, read_log

MOST_LEFT_OUT = 0.5


@dataclass(frozen=True)
class TraceRequest:
    """One request: its rendered prompt, and the tokens of prompt and answer. `own_tokens` are those behind its head.

    The head is what stands before the first user's words, which requests share; answers count as own tokens.
    """

    scene: str
    prompt: str
    prompt_tokens: int
    output_tokens: int
    own_tokens: int


@dataclass(frozen=True)
class Trace:
    """A load test's requests in order, how many of the log were too long for the engine, and who wrote the log."""

    requests: tuple[TraceRequest, ...]
    too_long: int
    generated: bool

    @property
    def sha256(self) -> str:
        """Of every prompt and answer length, in order."""
        return digest([(row.scene, row.prompt, row.output_tokens) for row in self.requests])

    def repeat(self, number: int, size: int) -> tuple[TraceRequest, ...]:
        """The requests of one repeat, from 0; no two repeats share any."""
        return self.requests[number * size : (number + 1) * size]


def make_trace(rows: Iterable[LoggedRequest], tokens: PromptTokens, count: int, max_model_len: int) -> Trace:
    """The first `count` requests of a log that fit the engine's model length with their answers.

    Raises `InputError` where the log has fewer, or where more than half of it does not fit.
    """
    found: list[TraceRequest] = []
    too_long, generated = 0, False
    for row in rows:
        if len(found) == count:
            break
        prompt = tokens.prompt(row)
        made = _request(row.scene, prompt.text, tokens.count(prompt.text), row.output_tokens, tokens.count(prompt.head))
        generated = generated or row.generated
        if made.prompt_tokens + made.output_tokens > max_model_len:
            too_long += 1
        else:
            found.append(made)
        if too_long > count:
            break
    if len(found) < count:
        raise InputError(
            f"load: {count} requests are wanted, the log has {len(found)} that fit {max_model_len} tokens and "
            f"{too_long} that do not; give a longer log, ask for fewer requests, or raise engine.max_model_len"
        )
    if too_long > MOST_LEFT_OUT * count:
        raise InputError(
            f"load: {too_long} requests do not fit {max_model_len} tokens, against {count} that do: this is not the "
            "traffic any more; raise engine.max_model_len, or generate shorter texts"
        )
    return Trace(tuple(found), too_long, generated)


def log_rows(
    settings: LoadSettings, suites: dict[Suite, SuiteSettings], toolsets: Path, tokens: PromptTokens
) -> Iterable[LoggedRequest]:
    """The rows of the profile's own log, or generated ones without end."""
    if settings.log is not None:
        return read_log(LogSource(settings.log))
    items: list[Item] = [item for suite, part in suites.items() for item in load_suite(Path(part.path), suite, None)]
    traffic = Traffic(**settings.traffic.model_dump())
    texts = SuiteTexts(items, list(traffic.scenes))
    # A generator whose every text is too long would never end.
    most = settings.requests * settings.repeats * 4
    return islice(LogGenerator(traffic, texts, load_toolsets(toolsets), tokens.count).rows(), most)


def _request(scene: str, prompt: str, prompt_tokens: int, output_tokens: int, head_tokens: int) -> TraceRequest:
    answer = max(output_tokens, 1)
    return TraceRequest(scene, prompt, prompt_tokens, answer, prompt_tokens - head_tokens + answer)
