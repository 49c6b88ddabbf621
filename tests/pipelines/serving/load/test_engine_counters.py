"""Counters and gauges of an engine, read from its metrics page while it works."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from evalsets.records import InputError
from pipelines.engine.launch import Server
from pipelines.serving.load import engine_counters
from pipelines.serving.load.device_use import DeviceUse, device_use, parsed
from pipelines.serving.load.engine_counters import empty_prefix_cache, read_metrics, watching
from pipelines.serving.load.results import Counters

PAGE = """# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{{engine="0"}} {kv}
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0"}} 2.0
vllm:num_requests_running{{engine="1"}} 1.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{engine="0"}} 5.0
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{{engine="0"}} {count}
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{engine="0"}} 7.0
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{{engine="0"}} {count}
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{{engine="0"}} 16.0
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{{engine="0"}} 0.0
"""


class Page(http.server.BaseHTTPRequestHandler):
    """Counts up with every reading; resets are kept."""

    asked = 0
    resets: list[str] = []
    status = 200

    def do_GET(self) -> None:
        Page.asked += 1
        body = PAGE.format(kv=0.25 if Page.asked % 2 else 0.75, count=100.0 * Page.asked).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        Page.resets.append(self.path)
        self.send_response(Page.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests are quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(engine_counters, "EVERY_S", 0.01)
    Page.asked, Page.resets, Page.status = 0, [], 200
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        port = web.server_address[1]
        yield Server(f"http://127.0.0.1:{port}", port, Path("engine.log"), MagicMock(), frozenset())
        web.shutdown()


def test_values_are_summed_over_engines() -> None:
    found = read_metrics(PAGE.format(kv=0.5, count=3))
    assert found["vllm:num_requests_running"] == 3
    assert found["vllm:prompt_tokens_total"] == 3


def test_a_metric_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="lack vllm:kv_cache_usage_perc"):
        read_metrics(PAGE.format(kv=0.5, count=3).replace("vllm:kv_cache_usage_perc", "vllm:gpu_cache"))


def test_what_was_counted_meanwhile_and_the_peaks(server: Server) -> None:
    with watching(server, "cpu") as watch:
        while len(watch.readings) < 4:
            time.sleep(0.01)
    grown = 100 * (Page.asked - 1)
    assert watch.counters == Counters(prompt_tokens=grown, generation_tokens=0, queries=grown, hits=0, preemptions=0)
    use = watch.use()
    assert (use.kv_peak, use.waiting_peak, use.running_peak) == (0.75, 5, 3)
    assert 0.25 <= use.kv_mean <= 0.75
    assert use.device_memory > 0


def test_emptying_the_cache_is_asked_for_and_a_refusal_said(server: Server) -> None:
    empty_prefix_cache(server)
    assert Page.resets == ["/reset_prefix_cache"]
    Page.status = 404
    with pytest.raises(InputError, match=r"not emptied \(HTTP 404\)"):
        empty_prefix_cache(server)


def test_cards_are_averaged_and_their_memory_added() -> None:
    assert parsed("50, 1000\n100, 24\n") == DeviceUse(0.75, 1024 << 20)
    assert device_use("cpu").memory_bytes > 0
