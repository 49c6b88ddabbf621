"""Starting and stopping one engine process on loopback."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests
from tqdm import tqdm

from evalsets.records import InputError

STOP_S = 30
HINTS = {
    "Cannot allocate memory": "free memory, or lower VLLM_CPU_KVCACHE_SPACE in the profile's engine.environment",
    "out of memory": "lower engine.max_model_len or engine.max_num_seqs, or free the card",
    "Address already in use": "another process took the port; run again",
    "unrecognized arguments": "the pinned engine does not know this flag; correct engine.flags in the profile",
    "No module named": "rebuild the engine's environment: make setup",
}


@dataclass(frozen=True)
class Server:
    """A running engine: where it answers, its log, and its guardian process."""

    url: str
    port: int
    log: Path
    process: subprocess.Popen[bytes]
    start_s: float

    def alive(self) -> bool:
        """Whether the engine's process is still there."""
        return self.process.poll() is None


def free_port() -> int:
    """A TCP port of the loopback interface that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(argv: list[str], environment: dict[str, str], port: int, log: Path, timeout_s: int) -> Iterator[Server]:
    """The engine started by `argv`, ready to answer; stopped with all its processes on the way out.

    Raises `InputError` with the last lines of its log when it ends or is not ready within `timeout_s` seconds.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with log.open("wb") as out:
        guarded = [sys.executable, "-m", "pipelines.engine.reaper", *argv]
        process = subprocess.Popen(guarded, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        _await_ready(process, port, log, timeout_s)
        yield Server(f"http://127.0.0.1:{port}", port, log, process, round(time.monotonic() - started, 1))
    finally:
        _stop(process)


def last_lines(log: Path, count: int = 15) -> str:
    """The end of a log, for a message: at most `count` lines of at most 300 characters."""
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    return "\n".join(f"  | {line[:300]}" for line in lines[-count:])


def died(what: str, log: Path) -> InputError:
    """The error for an engine that is gone: what happened, its last log lines, and what to do next."""
    text = log.read_text("utf-8", "replace") if log.exists() else ""
    advice = next((hint for sign, hint in HINTS.items() if sign in text), "read the whole log, correct, and run again")
    return InputError(
        f"{what}; no item was graded for it. Last lines of {log}:\n{last_lines(log)}\nWhat to do: {advice}"
    )


def _await_ready(process: subprocess.Popen[bytes], port: int, log: Path, timeout_s: int) -> None:
    with tqdm(desc="engine starting", unit="s", bar_format="{desc} {elapsed}", disable=None) as bar:
        for _ in range(timeout_s * 2):
            if process.poll() is not None:
                raise died(f"the engine ended while starting (exit code {process.returncode})", log)
            try:
                if requests.get(f"http://127.0.0.1:{port}/health", timeout=2).ok:
                    return
            except requests.RequestException:
                pass
            time.sleep(0.5)
            bar.update(0)
    raise died(f"the engine was not ready within {timeout_s} s", log)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
