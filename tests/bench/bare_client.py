"""What the server of tests/bench/client_bench.py and this machine allow: fixed bytes out, the reply in, nothing read.

Arguments: base URL, requests, requests at a time. Reads the messages of a request as JSON from standard input; prints
requests, seconds and CPU seconds as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from tests.bench.own_client import FIELDS


async def measure(url: str, count: int, at_once: int, messages: list[dict[str, str]]) -> dict[str, Any]:
    """Send so many requests over `at_once` connections: replies that came, seconds, CPU seconds."""
    place = urlsplit(url)
    body = json.dumps(FIELDS | {"model": "instant", "messages": messages}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
    request, left, came = head.encode() + body, count, 0

    async def work() -> None:
        nonlocal left, came
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        while left:
            left -= 1
            writer.write(request)
            answered = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(answered.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            came += 1
        writer.close()

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*[work() for _ in range(at_once)])
    return {"requests": came, "seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


if __name__ == "__main__":
    url, count, at_once = sys.argv[1:]
    print(json.dumps(asyncio.run(measure(url, int(count), int(at_once), json.load(sys.stdin)))))
