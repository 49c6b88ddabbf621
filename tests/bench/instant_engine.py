"""A chat-completion server that answers at once with fixed bytes: `python -m tests.bench.instant_engine`.

It prints its port, then serves on loopback until its standard input ends. A request for `return_token_ids` gets vLLM's
kind of reply, any other the plain one of the OpenAI API. Requests are not parsed beyond their length, so that a client
is measured, not this server. `GET /count` answers how many completions were asked for, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys

# The mean answer of the suites in evidence/local-full, rounded: the tools' 92 tokens and the questions' 6, by items.
PROMPT_TOKENS, ANSWER_TOKENS = 640, 24
PROMPT_IDS = [1 + number % 200 for number in range(PROMPT_TOKENS)]
ANSWER_IDS = [65 + number % 26 for number in range(ANSWER_TOKENS)]
TEXT = "".join(chr(token) for token in ANSWER_IDS)


def completion(token_ids: bool) -> bytes:
    """The JSON of a reply, with or without what only vLLM tells: token ids and the chosen tokens' log-probabilities."""
    logprobs = [
        {"token": f"token_id:{token}", "logprob": -0.0123456789 * (1 + token % 7), "bytes": [token], "top_logprobs": []}
        for token in ANSWER_IDS
    ]
    message: dict[str, object] = {
        "role": "assistant",
        "content": TEXT,
        "refusal": None,
        "annotations": None,
        "tool_calls": [],
    }
    choice: dict[str, object] = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    if token_ids:
        choice |= {"logprobs": {"content": logprobs}, "stop_reason": None, "token_ids": ANSWER_IDS}
    usage = {"prompt_tokens": PROMPT_TOKENS, "total_tokens": PROMPT_TOKENS + ANSWER_TOKENS}
    whole = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "instant",
        "choices": [choice],
        "usage": usage | {"completion_tokens": ANSWER_TOKENS},
    }
    return json.dumps(whole | ({"prompt_token_ids": PROMPT_IDS} if token_ids else {}), separators=(",", ":")).encode()


def _reply(body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-length: {len(body)}\r\ncontent-type: application/json\r\n\r\n"
    )
    return head.encode() + body


PLAIN, WITH_IDS = _reply(completion(False)), _reply(completion(True))


class Connection(asyncio.Protocol):
    """One connection: a reply for every whole request, in order."""

    completions = 0  # of all connections

    def __init__(self) -> None:
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            length = _content_length(self._data[:end])
            if len(self._data) < end + 4 + length:
                return
            request, self._data = self._data[: end + 4 + length], self._data[end + 4 + length :]
            self._transport.write(_answer(request))


def _content_length(head: bytes) -> int:
    _, found, after = head.lower().partition(b"content-length:")
    return int(after.partition(b"\r\n")[0]) if found else 0


def _answer(request: bytes) -> bytes:
    if request.startswith(b"GET"):
        return _reply(str(Connection.completions).encode())
    Connection.completions += 1
    return WITH_IDS if b'"return_token_ids"' in request else PLAIN


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
