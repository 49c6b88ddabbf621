"""The openai package's async client against a server: run by `.venvs/clients/bin/python`, imports nothing of ours.

Arguments: base URL, requests, requests at a time, transport (`default` or `aiohttp`). Reads the messages of a request
as JSON from standard input; prints requests, seconds and CPU seconds as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import openai


async def measure(url: str, count: int, at_once: int, transport: str, messages: list[Any]) -> dict[str, float]:
    """Requests that were answered, seconds and CPU seconds of `count` requests."""
    http_client = openai.DefaultAioHttpClient() if transport == "aiohttp" else None
    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", http_client=http_client)
    gate = asyncio.Semaphore(at_once)

    async def one() -> Any:
        async with gate:
            answer = await client.chat.completions.create(
                model="instant", messages=messages, max_tokens=64, temperature=0.0, seed=7
            )
        return answer.choices[0].message.content

    await asyncio.gather(*[one() for _ in range(2 * at_once)])  # connections and lazy imports
    wall, cpu = time.perf_counter(), time.process_time()
    answers = await asyncio.gather(*[one() for _ in range(count)])
    took = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    await client.close()
    return {"requests": sum(map(bool, answers)), **took}


if __name__ == "__main__":
    url, count, at_once, transport = sys.argv[1:]
    print(json.dumps(asyncio.run(measure(url, int(count), int(at_once), transport, json.load(sys.stdin)))))
