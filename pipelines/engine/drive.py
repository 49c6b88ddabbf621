"""Driving an engine through the OpenAI API: bounded concurrency, retries that never depend on content.

aiohttp rather than the openai package: the client shares two cores with the engine (docs/decisions/0003).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_exponential

from evalsets.items import FunctionCall
from evalsets.records import InputError, digest
from evalsets.responses import EngineParse, Response, Retry
from pipelines.engine.plan import Request

ATTEMPTS = 4
HEALTH_TIMEOUT_S = 30


class EngineGone(Exception):
    """The engine's process ended, or it no longer answers that it is healthy."""


class _Passing(Exception):
    """A fault of transport or server (5xx) that may pass."""


@dataclass(frozen=True)
class Drive:
    """How to ask: base URL, requests at a time, seconds per request, and whether the engine still lives.

    `decode` turns token ids into text with special tokens kept; `first_wait_s` is the pause before the first retry,
    which doubles each time. `api_key` is sent where the engine wants one.
    """

    url: str
    concurrency: int
    timeout_s: float
    alive: Callable[[], bool]
    decode: Callable[[list[int]], str]
    first_wait_s: float = 0.5
    api_key: str | None = None


def ask_all(drive: Drive, requests: Sequence[Request], on_response: Callable[[Response], None]) -> None:
    """Ask every request once and hand each response to `on_response` as it comes.

    A request that cannot be answered (refused, or still failing after the retries) comes back with `status: infra`.
    Raises `EngineGone` when the engine's process has ended or, after a fault, is not healthy, and `InputError` when
    it renders another prompt than the one planned. Responses handed over before stay valid.
    """
    asyncio.run(_ask_all(drive, requests, on_response))


async def _ask_all(drive: Drive, requests: Sequence[Request], on_response: Callable[[Response], None]) -> None:
    waiting = list(reversed(requests))
    timeout = aiohttp.ClientTimeout(total=drive.timeout_s)
    connector = aiohttp.TCPConnector(limit=drive.concurrency)
    headers = {"Authorization": f"Bearer {drive.api_key}"} if drive.api_key else {}

    async def work(session: aiohttp.ClientSession) -> None:
        while waiting:
            on_response(await _ask(drive, session, waiting.pop()))

    async with aiohttp.ClientSession(timeout=timeout, connector=connector, headers=headers, trust_env=False) as session:
        workers = [asyncio.create_task(work(session)) for _ in range(min(drive.concurrency, len(requests)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)


async def _ask(drive: Drive, session: aiohttp.ClientSession, request: Request) -> Response:
    retries: list[Retry] = []

    def note(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        waited = state.next_action.sleep if state.next_action else 0.0
        retries.append(Retry(error=str(error)[:300], waited_s=round(waited, 3)))

    attempts = AsyncRetrying(
        retry=retry_if_exception_type(_Passing),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(multiplier=drive.first_wait_s),
        before_sleep=note,
        reraise=True,
    )
    try:
        async for attempt in attempts:
            with attempt:
                status, payload = await _post(drive, session, request)
    except _Passing as error:
        return _infra(request, f"no answer after {ATTEMPTS} attempts: {error}", retries)
    if status != 200:
        return _infra(request, f"refused with HTTP {status}: {payload[:300].decode('utf-8', 'replace')}", retries)
    try:
        return _response(drive, request, json.loads(payload), retries)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        return _infra(request, f"not a chat completion with token ids: {type(error).__name__} {error}", retries)


async def _post(drive: Drive, session: aiohttp.ClientSession, request: Request) -> tuple[int, bytes]:
    if not drive.alive():
        raise EngineGone
    try:
        async with session.post(f"{drive.url}/v1/chat/completions", json=request.body) as reply:
            payload = await reply.read()
            status = reply.status
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        fault = f"{type(error).__name__} {error}"
    else:
        if status < 500:
            return status, payload
        fault = f"HTTP {status}: {payload[:200].decode('utf-8', 'replace')}"
    # A dying engine's guardian lives on for some seconds, and a hung engine for ever: items must not pay for it.
    if not drive.alive() or not await _healthy(drive, session):
        raise EngineGone
    raise _Passing(fault)


async def _healthy(drive: Drive, session: aiohttp.ClientSession) -> bool:
    try:
        async with session.get(f"{drive.url}/health", timeout=aiohttp.ClientTimeout(total=HEALTH_TIMEOUT_S)) as reply:
            return reply.status < 400
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


def _response(drive: Drive, request: Request, answer: dict[str, Any], retries: list[Retry]) -> Response:
    if answer["prompt_token_ids"] != request.prompt_ids:
        raise InputError(
            f"{request.item_id}: the engine rendered {len(answer['prompt_token_ids'])} prompt tokens, "
            f"{len(request.prompt_ids)} were planned and they differ; check the chat template and engine version"
        )
    choice = answer["choices"][0]
    ids = [int(token) for token in choice["token_ids"]]
    message = choice["message"]
    calls = [FunctionCall.model_validate(call["function"]) for call in message.get("tool_calls") or []]
    return Response(
        item_id=request.item_id,
        suite=request.suite,
        run=request.run,
        status="ok",
        raw=drive.decode(ids),
        token_ids=ids,
        finish_reason=choice["finish_reason"],
        capped=len(ids) >= request.max_tokens,
        prompt_tokens=len(request.prompt_ids),
        prompt_sha256=digest(request.prompt_ids),
        parsed=EngineParse(content=message.get("content"), tool_calls=calls),
        logprobs=[float(token["logprob"]) for token in (choice.get("logprobs") or {}).get("content") or []],
        retries=retries,
    )


def _infra(request: Request, error: str, retries: list[Retry]) -> Response:
    return Response(
        item_id=request.item_id,
        suite=request.suite,
        run=request.run,
        status="infra",
        prompt_tokens=len(request.prompt_ids),
        prompt_sha256=digest(request.prompt_ids),
        retries=retries,
        error=error,
    )
