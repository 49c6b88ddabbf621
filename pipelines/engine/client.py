"""One run's connections to an engine: the request itself, its health, its counters, and what of them may be shown."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import orjson

from pipelines.engine.pace import asked_to_wait
from pipelines.engine.patience import Full, Passing
from pipelines.engine.settings import masked
from pipelines.engine.watchdog import counted_tokens

HEALTH_TIMEOUT_S = 30
NO_SUCH_PAGE = (404, 405)
NO_REPLY = 599
JSON = {"Content-Type": "application/json"}


class Client:
    """The engine at `url`, over the connections of `session`. No value of `hidden` gets into a text."""

    def __init__(self, url: str, session: aiohttp.ClientSession, hidden: frozenset[str]) -> None:
        self._url = url
        self._completions = f"{url}/v1/chat/completions"
        self._session = session
        self._hidden = hidden

    async def post(self, body: dict[str, Any]) -> tuple[int, bytes]:
        """Status and reply of a chat completion. Raises `Passing` for a fault that may pass, `Full` when put off."""
        try:
            # The key must not follow a redirection to another host.
            url, data = self._completions, written(body)
            async with self._session.post(url, data=data, headers=JSON, allow_redirects=False) as reply:
                payload = await reply.read()
                status, wait_s = reply.status, asked_to_wait(reply.headers)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Passing(masked(f"{type(error).__name__} {error}", self._hidden)) from None
        if status == 429 or (status == 503 and wait_s is not None):
            raise Full(f"HTTP {status}: {self.shown(payload)}", wait_s)
        if status >= 500:
            raise Passing(f"HTTP {status}: {self.shown(payload)}")
        return status, payload

    async def healthy(self) -> bool:
        """Whether its health page, or where there is none its list of models, says so."""
        status, _ = await self._page("/health")
        if status in NO_SUCH_PAGE:
            status, _ = await self._page("/v1/models")
        return status < 300

    async def tokens(self) -> float | None:
        """The tokens it has counted so far; None where it shows no counters."""
        status, text = await self._page("/metrics")
        return counted_tokens(text) if status == 200 else None

    def shown(self, payload: bytes) -> str:
        """The beginning of a reply, for a message."""
        # Masked before it is cut, or the beginning of a key might be left.
        return masked(payload.decode("utf-8", "replace"), self._hidden)[:300]

    async def _page(self, page: str) -> tuple[int, str]:
        timeout = aiohttp.ClientTimeout(total=HEALTH_TIMEOUT_S)
        try:
            async with self._session.get(f"{self._url}{page}", timeout=timeout, allow_redirects=False) as reply:
                return reply.status, await reply.text(errors="replace")
        except (aiohttp.ClientError, TimeoutError, OSError):
            return NO_REPLY, ""


def written(body: dict[str, Any]) -> bytes:
    """A request's body as JSON."""
    try:
        return orjson.dumps(body)
    except TypeError:  # half a surrogate pair, or an integer of more than 64 bits
        return json.dumps(body).encode()
