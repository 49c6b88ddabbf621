"""LiteLLM's own proxy on loopback, and fake OpenAI-compatible engines behind it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web

ROOT = Path(__file__).resolve().parents[3]
LITELLM = ROOT / ".venvs" / "litellm" / "bin"
# The proxy refuses to start without one, or with a weak one.
KEY = "sk-0123456789abcdef0123456789abcdef"
AT_ONCE = 8
START_S = 180


@dataclass
class FakeEngine:
    """An engine that answers every chat with its variant's name, and counts the model names it was asked for."""

    variant: str
    port: int
    asked: Counter[str] = field(default_factory=Counter)
    _runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked[body["model"]] += 1
        message = {"role": "assistant", "content": self.variant}
        return web.json_response(
            {
                "id": "chat-1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )


@dataclass(frozen=True)
class Answer:
    """Which variant spoke, and the deployment that the proxy says it was."""

    status: int
    variant: str
    deployment: str


@asynccontextmanager
async def running(engines: list[FakeEngine]) -> AsyncIterator[None]:
    """The engines answer within."""
    try:
        for engine in engines:
            await engine.start()
        yield
    finally:
        for engine in engines:
            await engine.stop()


@contextmanager
def proxy(config: Path, port: int) -> Iterator[str]:
    """The URL of a proxy that was started from a config file. Ends with it."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(config.parent),
        "LITELLM_MASTER_KEY": KEY,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    command = [str(LITELLM / "litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    log = config.with_suffix(".log")
    with log.open("w") as said:
        process = subprocess.Popen(
            [*command, "--telemetry", "False"], cwd=config.parent, env=environment, stdout=said, stderr=said
        )
        try:
            asyncio.run(_until_live(f"http://127.0.0.1:{port}", process, log))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def _until_live(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    async with aiohttp.ClientSession() as session:
        while True:
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline, f"no answer in {START_S} s:\n{log.read_text()[-2000:]}"
            try:
                async with session.get(f"{url}/health/liveliness") as reply:
                    if reply.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.5)


async def ask(url: str, scene: str, sessions: list[str | None]) -> list[Answer]:
    """One chat per entry, a session's id in its header where there is one; at most `AT_ONCE` at once."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(client: aiohttp.ClientSession, session: str | None) -> Answer:
        headers = {"Authorization": f"Bearer {KEY}"} | ({"x-litellm-session-id": session} if session else {})
        body = {"model": scene, "messages": [{"role": "user", "content": "Where is my order? 我的订单在哪里？"}]}
        async with gate, client.post(f"{url}/v1/chat/completions", json=body, headers=headers) as reply:
            answer = await reply.json()
            choices = answer.get("choices") or [{"message": {"content": str(answer)[:200]}}]
            return Answer(reply.status, choices[0]["message"]["content"], reply.headers.get("x-litellm-model-id", ""))

    async with aiohttp.ClientSession() as client:
        return await asyncio.gather(*(one(client, session) for session in sessions))
