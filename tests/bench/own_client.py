"""This project's client against a server, in a process of its own: see tests/bench/client_bench.py.

Arguments: base URL, requests, requests at a time, and `journal` or `memory`. Reads the messages of a
request as JSON from standard input; prints requests, seconds and CPU seconds as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from tqdm import tqdm

from evalsets.responses import Response
from pipelines.engine.drive import Drive, ask_all
from pipelines.engine.journal import Journal
from pipelines.engine.plan import Request
from pipelines.engine.probes import SAMPLING
from pipelines.layout import WORK
from quantize.chat_template import ChatTemplate
from tests.bench.instant_engine import ANSWER_IDS, PROMPT_IDS
from tests.pipelines.engine.tiny_checkpoint import make_checkpoint

# The fields of a run's request besides model and messages (pipelines/engine/plan.py).
FIELDS = SAMPLING | {"seed": 7, "max_tokens": 64}


def planned(messages: list[dict[str, str]], count: int) -> list[Request]:
    """As many requests of these messages, with item ids of their own."""
    body = FIELDS | {"model": "instant", "messages": messages}
    return [Request("qa", f"qa-{number:06}", 0, dict(body), PROMPT_IDS, 64) for number in range(count)]


def measure(url: str, count: int, at_once: int, journal: bool, messages: list[dict[str, str]]) -> dict[str, float]:
    """Ask so often, with a run's journal and progress bar or without: answers that came whole, seconds, CPU seconds."""
    WORK.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK) as name:
        folder = Path(name)
        make_checkpoint(folder / "checkpoint")
        drive = Drive(url, at_once, 300, lambda: True, ChatTemplate(folder / "checkpoint").decode)
        ask_all(drive, planned(messages, 2 * at_once), lambda answer: None)  # lazy imports
        requests = planned(messages, count)
        whole = 0
        wall, cpu = time.perf_counter(), time.process_time()
        kept = Journal(folder, "qa") if journal else None
        with tqdm(total=count, disable=None if journal else True) as bar:

            def keep(answer: Response) -> None:
                nonlocal whole
                whole += answer.status == "ok" and answer.token_ids == ANSWER_IDS
                if kept:
                    kept.add(answer)
                    bar.update()

            ask_all(drive, requests, keep)
        took = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {"requests": whole, **took}


if __name__ == "__main__":
    url, count, at_once, journal = sys.argv[1:]
    print(json.dumps(measure(url, int(count), int(at_once), journal == "journal", json.load(sys.stdin))))
