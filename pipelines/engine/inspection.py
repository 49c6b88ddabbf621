"""A look at an engine before the suites are asked of it: a few prompts, short answers, and the detectors on them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from itertools import chain, islice, zip_longest

from evalsets.records import InputError, Record
from evalsets.responses import Response
from pipelines.engine.detectors import (
    Rendering,
    first_token_agreement,
    repetition,
    tools_rendered,
    without_logprob,
)
from pipelines.engine.drive import Drive, ask_all
from pipelines.engine.plan import Plan, Request
from pipelines.engine_modes import Inspect

EXAMPLES = 3
SHOWN = 60  # characters of an example

Ask = Callable[[Sequence[Request]], Sequence[Response] | Awaitable[Sequence[Response]]]
Decode = Callable[[list[int]], str]


class Inspection(Record):
    """What was seen. `first_tokens` maps an answer id to the first token's id, answers without a token left out.

    `prompts`, `degenerate` and `non_finite` count answers; `agreement` is with the baseline's first tokens, 0 to 1,
    None where there are none; `template` is that of `detectors.tools_rendered`, `no tools` where none was asked.
    """

    prompts: int
    degenerate: int
    non_finite: int
    first_tokens: dict[str, int]
    agreement: float | None
    template: Rendering | None


def inspect(
    plan: Plan, settings: Inspect, ask: Ask, decode: Decode, baseline: Mapping[str, int] | None = None
) -> Inspection:
    """Ask a planned run's first prompts for a few tokens each and look for what no suite needs to be spent on.

    `ask` answers requests, now or awaited, in any order; `decode` turns token ids into text; `baseline` has the first
    tokens of the baseline's answers by answer id. Nothing is kept of the answers themselves. Raises `InputError` that
    names the detector, its numbers, examples and what to do.
    """
    requests = chosen(plan, settings)
    rendering = _template(requests, decode)
    answers = {answer.answer_id: answer for answer in _asked(ask, requests)}
    rows = [answers[request.answer_id] for request in requests if request.answer_id in answers]
    _refuse_unanswered(requests, rows)
    non_finite = _logprobs(rows)
    degenerate = _repetitions(rows, settings, decode)
    begun = first_tokens(rows)
    agreement = _agreement(begun, baseline or {}, settings, decode)
    return Inspection(
        prompts=len(rows),
        degenerate=degenerate,
        non_finite=non_finite,
        first_tokens=begun,
        agreement=agreement,
        template=rendering,
    )


def chosen(plan: Plan, settings: Inspect) -> list[Request]:
    """The requests to look at: of each suite in turn the next one in file order, first pass only, answers cut short."""
    suites = []
    for suite, requests in plan.requests.items():
        by_id = {request.answer_id: request for request in requests if request.run == 0}
        suites.append([by_id[name] for name in plan.answer_ids[suite] if name in by_id])
    turns = chain.from_iterable(zip_longest(*suites))
    return [_short(request, settings) for request in islice(filter(None, turns), settings.prompts)]


def asking(drive: Drive) -> Callable[[Sequence[Request]], list[Response]]:
    """What asks through `drive` and gives the responses back as they came."""

    def ask(requests: Sequence[Request]) -> list[Response]:
        answers: list[Response] = []
        ask_all(drive, requests, answers.append)
        return answers

    return ask


def first_tokens(answers: Sequence[Response]) -> dict[str, int]:
    """The id of the first token by answer id; answers without a token are left out."""
    return {answer.answer_id: answer.token_ids[0] for answer in answers if answer.token_ids}


def _short(request: Request, settings: Inspect) -> Request:
    tokens = min(request.max_tokens, settings.max_tokens)
    # Under a salt of its own the prefix cache is as cold for the suites as without this look.
    body = request.body | {"max_tokens": tokens, "logprobs": True, "cache_salt": "inspection"}
    return replace(request, body=body, max_tokens=tokens)


def _asked(ask: Ask, requests: Sequence[Request]) -> Sequence[Response]:
    answers = ask(requests)
    if isawaitable(answers):

        async def awaited(coming: Awaitable[Sequence[Response]]) -> Sequence[Response]:
            return await coming

        return asyncio.run(awaited(answers))
    return answers


def _refuse_unanswered(requests: Sequence[Request], rows: Sequence[Response]) -> None:
    failed = {row.answer_id: row.error or "" for row in rows if row.status != "ok"}
    answered = {row.answer_id for row in rows} - failed.keys()
    lost = [request.answer_id for request in requests if request.answer_id not in answered]
    if lost:
        told = [f"{name}: {failed.get(name, 'no response')}" for name in lost]
        raise _found("no answer", len(lost), len(requests), told, "read the engine's log; nothing was asked of it yet")


def _template(requests: Sequence[Request], decode: Decode) -> Rendering | None:
    """How the prompts show their tools; None where none has any. The prompts are those the engine must see."""
    verdicts = {
        request.answer_id: tools_rendered(decode(request.prompt_ids), request.body["tools"])
        for request in requests
        if request.body.get("tools")
    }
    damaged = [f"{name}: {tools.found}" for name, tools in verdicts.items() if tools.rendering == "damaged"]
    if damaged:
        raise _found(
            "chat template",
            len(damaged),
            len(verdicts),
            damaged,
            "put the model's original chat template into the checkpoint; converted files often carry an altered one",
        )
    found = {tools.rendering for tools in verdicts.values()}
    return "not checked" if "not checked" in found else "json" if found else None


def _logprobs(rows: Sequence[Response]) -> int:
    lost = {row.answer_id: without_logprob(row.logprobs, len(row.token_ids)) for row in rows}
    told = [f"{name}: {count} tokens" for name, count in lost.items() if count]
    if told:
        raise _found(
            "non-finite or missing log-probabilities",
            len(told),
            len(rows),
            told,
            "serve in bfloat16 (float16 overflows), check the checkpoint's scales, and that the engine sends logprobs",
        )
    return len(told)


def _repetitions(rows: Sequence[Response], settings: Inspect, decode: Decode) -> int:
    cycles = {
        row.answer_id: repetition(row.token_ids, decode, finished=row.finish_reason != "length" and not row.capped)
        for row in rows
    }
    told = [f"{name}: {cycle.text!r} {cycle.repeats} times" for name, cycle in cycles.items() if cycle]
    if len(told) > settings.max_degenerate * len(rows):
        raise _found(
            f"degenerate repetition (engine.inspect.max_degenerate {settings.max_degenerate})",
            len(told),
            len(rows),
            told,
            "serve in bfloat16 (float16 overflows), check the checkpoint and the kernel in the log, or raise the limit",
        )
    return len(told)


def _agreement(
    begun: Mapping[str, int], baseline: Mapping[str, int], settings: Inspect, decode: Decode
) -> float | None:
    agreement, least = first_token_agreement(baseline, begun), settings.min_first_token_agreement
    if agreement is not None and agreement < least:
        other = {name: token for name, token in begun.items() if baseline.get(name, token) != token}
        told = [f"{name}: {decode([token])!r}, not {decode([baseline[name]])!r}" for name, token in other.items()]
        raise _found(
            f"first tokens (engine.inspect.min_first_token_agreement {least}, seen {agreement:.2f})",
            len(other),
            len(baseline.keys() & begun.keys()),
            told,
            "other tokens than the baseline's: check that the right checkpoint is served, or lower the limit",
        )
    return agreement


def _found(detector: str, count: int, total: int, told: Sequence[str], advice: str) -> InputError:
    # Whole examples would be pages: an answer may be one line of a thousand signs.
    examples = "; ".join(
        example if len(example) <= SHOWN * 2 else f"{example[: SHOWN * 2]}…" for example in told[:EXAMPLES]
    )
    return InputError(f"inspection: {detector}: {count} of {total} prompts ({examples}); {advice}")
