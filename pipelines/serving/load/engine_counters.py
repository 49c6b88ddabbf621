"""What a running engine says of itself under load: its counters, its gauges, and emptying its prefix cache."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import requests
from prometheus_client.parser import text_string_to_metric_families

from evalsets.records import InputError
from pipelines.engine.launch import Server, ask
from pipelines.serving.load.device_use import DeviceUse, device_use
from pipelines.serving.load.results import Counters, Use

COUNTERS = {
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generation_tokens": "vllm:generation_tokens_total",
    "queries": "vllm:prefix_cache_queries_total",
    "hits": "vllm:prefix_cache_hits_total",
    "preemptions": "vllm:num_preemptions_total",
}
KV_USE, RUNNING, WAITING = "vllm:kv_cache_usage_perc", "vllm:num_requests_running", "vllm:num_requests_waiting"
GAUGES = (KV_USE, RUNNING, WAITING)
EVERY_S = 0.5


def read_metrics(text: str) -> dict[str, float]:
    """The sum over engines of every counter and gauge used here. Raises `InputError` naming one that is missing."""
    wanted = {*COUNTERS.values(), *GAUGES}
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in wanted:
                found[sample.name] = found.get(sample.name, 0.0) + sample.value
    if lost := sorted(wanted - found.keys()):
        raise InputError(f"the engine's metrics lack {', '.join(lost)}; use the pinned vLLM (make setup)")
    return found


def counted(before: Mapping[str, float], after: Mapping[str, float]) -> Counters:
    """What was counted between two readings."""
    return Counters(**{field: round(after[name] - before[name]) for field, name in COUNTERS.items()})


def empty_prefix_cache(server: Server) -> None:
    """Empty the engine's prefix cache. It must idle, and was started with VLLM_SERVER_DEV_MODE=1."""
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(f"{server.url}/reset_prefix_cache", timeout=60)
    if not answer.ok:
        raise InputError(f"{server.url}: the prefix cache was not emptied (HTTP {answer.status_code}); read its log")


@dataclass
class Watch:
    """Readings of gauges and device while something runs, and what was counted meanwhile."""

    readings: list[Mapping[str, float]] = field(default_factory=list)
    device: list[DeviceUse] = field(default_factory=list)
    counters: Counters | None = None

    def use(self) -> Use:
        """The readings as shares and peaks."""
        kv = [reading[KV_USE] for reading in self.readings]
        return Use(
            kv_mean=round(sum(kv) / len(kv), 6),
            kv_peak=round(max(kv), 6),
            waiting_peak=round(max(reading[WAITING] for reading in self.readings)),
            running_peak=round(max(reading[RUNNING] for reading in self.readings)),
            device_busy=round(sum(use.busy for use in self.device) / len(self.device), 4) if self.device else 0.0,
            device_memory=max((use.memory_bytes for use in self.device), default=0),
        )


@contextmanager
def watching(server: Server, device: str) -> Iterator[Watch]:
    """Read the engine's gauges and its device in the background while inside; the counters are there afterwards."""
    watch, done = Watch(), threading.Event()

    def look() -> None:
        while not done.is_set():
            try:
                watch.readings.append(read_metrics(ask(f"{server.url}/metrics", timeout_s=30).text))
                watch.device.append(device_use(device))
            except (requests.RequestException, InputError):
                time.sleep(EVERY_S)  # a busy engine answers the next time; a dead one fails the measurement itself
            done.wait(EVERY_S)

    device_use(device)  # a processor's use is counted from the reading before
    before = read_metrics(ask(f"{server.url}/metrics", timeout_s=60).text)
    watch.readings.append(before)
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        done.set()
        thread.join(timeout=60)
    watch.counters = counted(before, read_metrics(ask(f"{server.url}/metrics", timeout_s=60).text))
