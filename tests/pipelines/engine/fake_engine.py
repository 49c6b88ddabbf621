"""A stand-in for vLLM's OpenAI server: it answers from a script, fails as it is told, and keeps what it was asked.

In a test's own process: `with FakeEngine(script, checkpoint).serving() as url`. In place of vLLM:
`python fake_engine.py --script FILE`, followed by the engine's usual command line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from aiohttp import web
from tokenizers import Tokenizer

from evalsets.items import FunctionCall
from evalsets.records import Record, read_record
from pipelines.engine.probes import PROMPTS
from quantize.chat_template import ChatTemplate

CACHE_INFO = 'vllm:cache_config_info{block_size="128",cache_dtype="auto",enable_prefix_caching="True",sneaky="x"} 1.0\n'


class Step(Record):
    """One reaction to a request. `body` replaces the whole reply's text; other than 200 is an error reply.

    `fault`: `cut` closes the connection in the middle of the reply, `wrong_prompt` claims one more prompt token,
    `crash` ends the process without a word, `unhealthy` answers 500 and fails the health page from then on.
    `model` is the name it answers as, `retry_after` the header of that name.
    """

    text: str = "fine<|im_end|>"
    tool_calls: list[FunctionCall] = []
    finish_reason: str = "stop"
    status: int = 200
    wait_s: float = 0.0
    body: str | None = None
    model: str | None = None
    retry_after: str | None = None
    fault: Literal["cut", "wrong_prompt", "crash", "unhealthy"] | None = None


class Script(Record):
    """What the engine does. `steps` by the last user message; the last step of a list goes on for ever.

    `log` is printed at the start; then the engine is `ready`, ends (`die`) or never answers (`hang`). `seen`: the
    file that gets a line for every request, as it arrives. `child`: start a process in a session of its own, and
    write its id to that file.

    `models` are the names it serves (none: the one of its command line). `version` None: no such page. `has_health`
    false: no health page. Probe prompts are answered apart: with `probe` as the text and its `logprob` per token.
    """

    steps: dict[str, list[Step]] = {}
    otherwise: Step = Step()
    log: list[str] = []
    start: Literal["ready", "die", "hang"] = "ready"
    seen: str | None = None
    child: str | None = None
    models: list[str] = []
    version: str | None = "0.0.1"
    has_health: bool = True
    probe: Step = Step(text="nine")
    logprob: float = -0.5
    metrics: list[str] = []


class FakeEngine:
    """The server. `asked` counts requests by last user message, `bodies` has them in order, `most` the peak at once."""

    def __init__(self, script: Script, checkpoint: Path, keys: list[str] | None = None) -> None:
        self.script = script
        self.asked: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.probed = 0
        self.most = 0
        self._at_once = 0
        self._healthy = True
        self._keys = keys or []
        self._template = ChatTemplate(checkpoint)
        self._tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))

    def application(self) -> web.Application:
        """The routes that this project uses of an engine."""
        application = web.Application()
        application.router.add_get("/health", self._health)
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get("/version", self._version)
        application.router.add_get("/v1/models", self._models)
        application.router.add_post("/v1/chat/completions", self._chat)
        return application

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The server in a thread of its own; its base URL."""
        loop = asyncio.new_event_loop()
        runner = web.AppRunner(self.application(), shutdown_timeout=0.1)

        async def start() -> int:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            return int(runner.addresses[0][1])

        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        port = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            loop.close()

    async def _health(self, request: web.Request) -> web.Response:
        if not self.script.has_health:
            return web.Response(status=404)
        return web.Response(status=200 if self._healthy else 503)

    async def _version(self, request: web.Request) -> web.Response:
        if self.script.version is None:
            return web.Response(status=404)
        return web.json_response({"version": self.script.version})

    async def _models(self, request: web.Request) -> web.Response:
        if not self._may(request):
            return web.json_response({"error": "Unauthorized"}, status=401)
        models = [{"id": name, "object": "model"} for name in self.script.models]
        return web.json_response({"object": "list", "data": models}, status=200 if self._healthy else 503)

    def _may(self, request: web.Request) -> bool:
        return not self._keys or request.headers.get("Authorization") in [f"Bearer {key}" for key in self._keys]

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(
            text="# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig\n"
            + CACHE_INFO
            + "".join(f"{line}\n" for line in self.script.metrics)
        )

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        if not self._may(request):
            return web.json_response({"error": "Unauthorized"}, status=401)
        body = await request.json()
        self._at_once += 1
        self.most = max(self.most, self._at_once)
        try:
            return await self._react(request, body)
        finally:
            self._at_once -= 1

    async def _react(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        item = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
        if item in PROMPTS:
            self.probed += 1
            return await self._play(request, body, self.script.probe)
        steps = self.script.steps.get(item, [self.script.otherwise])
        step = steps[min(self.asked[item], len(steps) - 1)]
        self.asked[item] += 1
        self.bodies.append(body)
        if self.script.seen:
            with Path(self.script.seen).open("a") as file:
                file.write(json.dumps(item) + "\n")
        return await self._play(request, body, step)

    async def _play(self, request: web.Request, body: dict[str, Any], step: Step) -> web.StreamResponse:
        await asyncio.sleep(step.wait_s)
        if step.fault == "crash":
            os._exit(1)
        if step.fault == "unhealthy":
            self._healthy = False
            return web.Response(status=500, text="engine core is dead")
        if step.status != 200:
            headers = {"Retry-After": step.retry_after} if step.retry_after is not None else {}
            return web.Response(status=step.status, text=step.body or f"scripted {step.status}", headers=headers)
        text = json.dumps(self._completion(body, step)) if step.body is None else step.body
        if step.fault == "cut":
            return await _cut(request, text.encode())
        return web.Response(text=text, content_type="application/json")

    def _completion(self, body: dict[str, Any], step: Step) -> dict[str, Any]:
        prompt = self._template.ids(body["messages"], body.get("tools"))
        ids = self._tokenizer.encode(step.text, add_special_tokens=False).ids[: body["max_tokens"]]
        calls = [
            {"id": f"call-{n}", "type": "function", "function": c.model_dump()} for n, c in enumerate(step.tool_calls)
        ]
        message = {"role": "assistant", "content": None if calls else step.text, "tool_calls": calls}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": step.model or body["model"],
            "prompt_token_ids": [*prompt, 0] if step.fault == "wrong_prompt" else prompt,
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": step.finish_reason,
                    "token_ids": ids,
                    "logprobs": {"content": [{"token": str(token), "logprob": self.script.logprob} for token in ids]},
                }
            ],
        }


async def _cut(request: web.Request, data: bytes) -> web.StreamResponse:
    reply = web.StreamResponse(headers={"Content-Length": str(len(data)), "Content-Type": "application/json"})
    await reply.prepare(request)
    await reply.write(data[: len(data) // 2])
    assert request.transport is not None
    request.transport.abort()
    return reply


def main(arguments: list[str]) -> None:
    """Serve as an engine's process would, log lines first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--served-model-name", required=True)
    parser.add_argument("--api-key", nargs="+")
    given, others = parser.parse_known_args(arguments)
    script = read_record(given.script, Script)
    # As the engine does: its own secret flags are redacted, everything else is shown.
    print(f"INFO non-default args: {{'port': {given.port}, 'api_key': '***', 'others': {others}}}", flush=True)
    print("\n".join(script.log), flush=True)
    if script.child:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
        Path(script.child).write_text(str(child.pid))
    if script.start == "die":
        sys.exit(1)
    if script.start == "hang":
        time.sleep(300)
    keys = [key for key in (given.api_key or [os.environ.get("VLLM_API_KEY", "")]) if key]
    script = script if script.models else script.model_copy(update={"models": [given.served_model_name]})
    engine = FakeEngine(script, given.model, keys)
    web.run_app(engine.application(), host="127.0.0.1", port=given.port, print=None, shutdown_timeout=0.1)


if __name__ == "__main__":
    main(sys.argv[1:])
