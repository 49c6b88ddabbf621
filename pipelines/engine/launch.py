"""Starting and stopping one engine process on loopback."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import requests
from tqdm import tqdm

from evalsets.records import InputError
from pipelines.engine.reaper import end_session
from pipelines.engine.settings import api_key, masked, secrets

STOP_S = 30
EXCEPTION = re.compile(r"^(?:.*ERROR.*\] )?((?:\w+\.)*\w*(?:Error|Exception): .+)$", re.MULTILINE)
HINTS = {
    "less than requested memory for kv": "lower VLLM_CPU_KVCACHE_SPACE in the profile's engine.environment",
    "Cannot allocate memory": "free memory, or lower VLLM_CPU_KVCACHE_SPACE in the profile's engine.environment",
    "larger than the available KV cache memory": (
        "the weights leave too little of the card: lower engine.max_model_len, raise --gpu-memory-utilization, "
        "or take more cards with --tensor-parallel-size (engine.flags)"
    ),
    "No available memory for the cache blocks": (
        "the weights fill what the engine may take: raise --gpu-memory-utilization, "
        "or take more cards with --tensor-parallel-size (engine.flags)"
    ),
    "less than desired GPU memory utilization": (
        "something else holds the card (see nvidia-smi): end it, or lower --gpu-memory-utilization in engine.flags"
    ),
    "out of memory": (
        "lower engine.max_model_len, engine.max_num_seqs or --gpu-memory-utilization (engine.flags), "
        "or take more cards with --tensor-parallel-size"
    ),
    "No space left on device": "free space where the log and the engine's caches lie, and run again",
    "Address already in use": "another process took the port; run again",
    "unrecognized arguments": "the pinned engine does not know this flag; correct engine.flags in the profile",
    "No module named": "rebuild the engine's environment: make setup",
}


@dataclass(frozen=True)
class Server:
    """A running engine: where it answers, its log, its guardian process, and what of it must not be written."""

    url: str
    port: int
    log: Path
    process: subprocess.Popen[bytes]
    hidden: frozenset[str]
    start_s: float = 0.0
    api_key: str | None = field(default=None, repr=False)

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

    Raises `InputError` with the last lines of its log when it ends or is not ready within `timeout_s` seconds. No
    secret of the command line or the environment is left in the log.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    session = log.with_suffix(".session")
    _end_leftover(session)
    started = time.monotonic()
    with log.open("wb") as out:
        guarded = [sys.executable, "-m", "pipelines.engine.reaper", str(os.getpid()), *argv]
        process = subprocess.Popen(
            guarded, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    session.write_text(f"{process.pid} {time.time()}")
    key = api_key(argv, environment)
    server = Server(f"http://127.0.0.1:{port}", port, log, process, secrets(argv, environment), api_key=key)
    try:
        _await_ready(server, timeout_s)
        yield replace(server, start_s=round(time.monotonic() - started, 1))
    finally:
        _stop(process)
        _end_leftover(session)
        _mask_log(server)


def ask(url: str, timeout_s: float, api_key: str | None = None) -> requests.Response:
    """GET a page of an engine, redirections not followed. A proxy that the environment names is not for it."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    with requests.Session() as session:
        session.trust_env = False
        session.verify = os.environ.get("SSL_CERT_FILE") or True  # as the client that asks the items does
        return session.get(url, timeout=timeout_s, headers=headers, allow_redirects=False)


def is_healthy(url: str, api_key: str | None = None) -> bool:
    """Whether an engine's health page, or where it has none its list of models, answers that all is well."""
    try:
        reply = ask(f"{url}/health", 2, api_key)
        if reply.status_code in (404, 405):
            reply = ask(f"{url}/v1/models", 10, api_key)
    except requests.RequestException:
        return False
    return reply.status_code < 300


def last_lines(server: Server, count: int = 15) -> str:
    """The end of an engine's log, for a message: at most `count` lines of at most 300 characters, secrets masked."""
    lines = masked(_text(server.log), server.hidden).splitlines()
    return "\n".join(f"  | {line[:300]}" for line in lines[-count:])


def died(what: str, server: Server) -> InputError:
    """The error for an engine that is gone: what happened, why as its log has it, its last lines, what to do next."""
    text = masked(_text(server.log), server.hidden)
    advice = next((hint for sign, hint in HINTS.items() if sign in text), "read the whole log, correct, and run again")
    causes = "".join(f"  | {cause}\n" for cause in first_causes(text))
    return InputError(
        f"{what}; no item was graded for it."
        + (f" What failed first:\n{causes}" if causes else " ")
        + f"Last lines of {server.log}:\n{last_lines(server)}\nWhat to do: {advice}"
    )


def first_causes(log: str, count: int = 2) -> list[str]:
    """The first different exceptions that a log names, at most `count` of 300 characters each.

    An engine's processes pass a failure on to one another, so that the end of the log only says that one failed.
    """
    found = dict.fromkeys(match[1] for match in EXCEPTION.finditer(log) if "See root cause above" not in match[1])
    return [cause[:300] for cause in list(found)[:count]]


def _text(log: Path) -> str:
    return log.read_text("utf-8", "surrogateescape")


def _mask_log(server: Server) -> None:
    text = _text(server.log)
    if (clean := masked(text, server.hidden)) != text:
        server.log.write_text(clean, "utf-8", "surrogateescape")


def _await_ready(server: Server, timeout_s: int) -> None:
    deadline = time.monotonic() + timeout_s
    with tqdm(desc="engine starting", unit="s", bar_format="{desc} {elapsed}", disable=None) as bar:
        while time.monotonic() < deadline:
            if not server.alive():
                raise died(f"the engine ended while starting (exit code {server.process.returncode})", server)
            if is_healthy(server.url, server.api_key):
                return
            time.sleep(0.5)
            bar.update(0)
    raise died(f"the engine was not ready within {timeout_s} s", server)


def _end_leftover(session: Path) -> None:
    # Where the guardian itself was killed, the engine's processes are left in its session.
    if session.exists():
        number, started = session.read_text().split()
        end_session(int(number), float(started))
        session.unlink()


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
