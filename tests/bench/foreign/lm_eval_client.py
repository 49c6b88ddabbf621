"""lm-evaluation-harness's API model against a server: run by `.venvs/clients/bin/python`, imports nothing of ours.

Arguments: base URL, requests, requests at a time. Reads the messages of a request as JSON from standard input; prints
requests, seconds and CPU seconds as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalChatCompletion


def measure(url: str, count: int, at_once: int, messages: list[Any]) -> dict[str, float]:
    """Requests that were answered, seconds and CPU seconds of `count` requests."""
    model = LocalChatCompletion(
        base_url=f"{url}/v1/chat/completions", model="instant", num_concurrent=at_once, tokenized_requests=False
    )
    prompt = model.apply_chat_template(messages)

    def ask(number: int) -> list[Any]:
        wanted = {"max_gen_toks": 64, "temperature": 0.0, "until": []}
        asked = [Instance("generate_until", {}, (prompt, wanted), n) for n in range(number)]
        return list(model.generate_until(asked))

    ask(2 * at_once)  # lazy imports
    wall, cpu = time.perf_counter(), time.process_time()
    answers = ask(count)
    took = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {"requests": sum(map(bool, answers)), **took}


if __name__ == "__main__":
    url, count, at_once = sys.argv[1:]
    print(json.dumps(measure(url, int(count), int(at_once), json.load(sys.stdin))))
