"""Driving an engine through the OpenAI API: bounded concurrency, retries that never depend on content.

aiohttp rather than the openai package: the client shares two cores with the engine (docs/decisions/0003).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
from tenacity import AsyncRetrying, retry_if_exception_type

from evalsets.items import FunctionCall
from evalsets.records import InputError
from evalsets.responses import EngineParse, Response, Retry
from pipelines.engine.client import Client
from pipelines.engine.detectors import prompt_difference
from pipelines.engine.pace import Pace
from pipelines.engine.patience import Full, Passing, Patience
from pipelines.engine.plan import Request
from pipelines.engine.settings import masked
from pipelines.engine.watchdog import EngineGone, Progress, watch


@dataclass(frozen=True)
class Drive:
    """How to ask: base URL, requests at a time, seconds per request, and whether the engine still lives.

    `decode` turns token ids into text with special tokens kept; `first_wait_s` is the pause before the first retry,
    which doubles each time. `api_key` is sent where the engine wants one; `hidden` never gets into a response.
    `put_off_s`: for how long in all a request lets itself be put off by a full endpoint. `max_requests_per_s` and
    `stall_timeout_s` as in the profile; None: no limit, no watch.
    """

    url: str
    concurrency: int
    timeout_s: float
    alive: Callable[[], bool]
    decode: Callable[[list[int]], str]
    first_wait_s: float = 0.5
    api_key: str | None = field(default=None, repr=False)
    hidden: frozenset[str] = field(default=frozenset(), repr=False)
    put_off_s: float = 300.0
    max_requests_per_s: float | None = None
    stall_timeout_s: float | None = None


def ask_all(drive: Drive, requests: Sequence[Request], on_response: Callable[[Response], None]) -> None:
    """Ask every request once and hand each response to `on_response` as it comes.

    A request that cannot be answered (refused, put off too long, or still failing after the retries) comes back with
    `status: infra`. Raises `EngineGone` when the engine's process has ended, after a fault is not healthy, or stands
    still, and `InputError` when it renders another prompt than the one planned or answers as another model. Responses
    handed over before stay valid.
    """
    asyncio.run(_ask_all(drive, requests, on_response))


async def _ask_all(drive: Drive, requests: Sequence[Request], on_response: Callable[[Response], None]) -> None:
    waiting = list(reversed(requests))
    timeout = aiohttp.ClientTimeout(total=drive.timeout_s)
    connector = aiohttp.TCPConnector(limit=0)  # the workers are the limit; health and counters need no turn
    headers = {"Authorization": f"Bearer {drive.api_key}"} if drive.api_key else {}

    async with aiohttp.ClientSession(
        timeout=timeout, connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
    ) as session:
        asker = _Asker(drive, Client(drive.url, session, drive.hidden))

        async def work() -> None:
            while waiting:
                on_response(await asker.ask(waiting.pop()))

        workers = [asyncio.create_task(work()) for _ in range(min(drive.concurrency, len(requests)))]
        tasks: list[asyncio.Future[Any]] = [asyncio.gather(*workers)]
        if drive.stall_timeout_s is not None:
            tasks.append(asyncio.create_task(watch(asker.progress, drive.stall_timeout_s, asker.client.tokens)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            next(task for task in tasks if task.done()).result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, *workers, return_exceptions=True)


class _Asker:
    """A drive at work, with the pace that all its workers keep and the progress that they make."""

    def __init__(self, drive: Drive, client: Client) -> None:
        self.client = client
        self.progress = Progress()
        self._drive = drive
        self._pace = Pace(drive.max_requests_per_s)

    async def ask(self, request: Request) -> Response:
        patience = Patience(self._drive.first_wait_s, self._drive.put_off_s)
        retries, hidden = patience.retries, self._drive.hidden
        try:
            status, payload = await self._send_patiently(request, patience)
        except Passing as error:
            return _infra(request, f"no answer after {patience.attempts} attempts: {error}", retries)
        if status != 200:
            return _infra(request, f"refused with HTTP {status}: {self.client.shown(payload)}", retries)
        try:
            return _response(self._drive, request, read(payload), retries)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            fault = masked(f"{type(error).__name__} {error}", hidden)
            return _infra(request, f"not a chat completion with token ids: {fault}", retries)

    async def _send_patiently(self, request: Request, patience: Patience) -> tuple[int, bytes]:
        fault: Passing | None
        try:
            return await self._send(request)
        except Passing as error:
            # Nearly every request was answered by now: what tenacity costs is for the others alone.
            fault = error
        attempts = AsyncRetrying(
            retry=retry_if_exception_type(Passing),
            stop=patience.is_over,
            wait=patience.wait_s,
            before_sleep=patience.note,
            reraise=True,
        )
        async for attempt in attempts:
            with attempt:
                if fault is not None:
                    first, fault = fault, None
                    raise first
                answered: tuple[int, bytes] = await self._send(request)
        return answered

    async def _send(self, request: Request) -> tuple[int, bytes]:
        await self._pace.turn()
        self._check_alive(self._drive.alive())
        try:
            reply = await self.client.post(request.body)
        except Full as full:
            if full.wait_s is not None:
                self._pace.hold(full.wait_s)
            raise
        except Passing:
            # A dying engine's guardian lives on for some seconds, and a hung engine for ever: items must not pay.
            self._check_alive(self._drive.alive() and await self.client.healthy())
            raise
        self.progress.note()
        return reply

    @staticmethod
    def _check_alive(alive: bool) -> None:
        if not alive:
            raise EngineGone("ended or hung")


def _response(drive: Drive, request: Request, answer: dict[str, Any], retries: list[Retry]) -> Response:
    if (place := prompt_difference(request.prompt_ids, answer["prompt_token_ids"])) is not None:
        raise InputError(
            f"{request.item_id}: the engine rendered {len(answer['prompt_token_ids'])} prompt tokens, "
            f"{len(request.prompt_ids)} were planned and they differ from token {place} on; "
            f"check the chat template and engine version"
        )
    if (model := answer.get("model", request.body["model"])) != request.body["model"]:
        raise InputError(
            f"{request.item_id}: answered by {masked(str(model), drive.hidden)}, asked of {request.body['model']}; "
            "take the fallback or the alias out of the gateway"
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
        prompt_sha256=ids_digest(request.prompt_ids),
        parsed=EngineParse(content=message.get("content"), tool_calls=calls),
        logprobs=[float(token["logprob"]) for token in (choice.get("logprobs") or {}).get("content") or []],
        retries=retries,
    )


def read(payload: bytes) -> Any:
    """A reply's JSON. Raises `ValueError` for what is none."""
    try:
        return orjson.loads(payload)
    except ValueError:
        # The standard library takes what orjson refuses: NaN, half a surrogate pair.
        return json.loads(payload)


def ids_digest(ids: list[int]) -> str:
    """`digest` of token ids, in a tenth of its time: of integers both write the same JSON."""
    return hashlib.sha256(orjson.dumps(ids)).hexdigest()


def _infra(request: Request, error: str, retries: list[Retry]) -> Response:
    return Response(
        item_id=request.item_id,
        suite=request.suite,
        run=request.run,
        status="infra",
        prompt_tokens=len(request.prompt_ids),
        prompt_sha256=ids_digest(request.prompt_ids),
        retries=retries,
        error=error,
    )
