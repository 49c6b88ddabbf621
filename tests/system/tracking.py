"""An MLflow tracking server as a process, with everything it says in a log file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.system.postgres import free_port

START_S = 180
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@contextmanager
def serving(backend: str, folder: Path, options: Sequence[str] = (), workers: int = 2) -> Iterator[str]:
    """The URI of a tracking server on a free loopback port; it and its workers end with the block.

    `backend` goes in by the environment, since it may hold a password and a command line can be read by everybody.
    """
    port = free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", str(workers), *options]
    environment = os.environ | QUIET | {"MLFLOW_BACKEND_STORE_URI": backend}
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "tracking.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}", log)
        yield f"http://127.0.0.1:{port}"
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server and its workers: they are a session of their own, with nobody else in it."""
    for number, patience_s in ((signal.SIGTERM, 30), (signal.SIGKILL, 30)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
            return


def _wait(process: subprocess.Popen[bytes], uri: str, log: Path) -> None:
    until = time.monotonic() + START_S
    while True:
        assert process.poll() is None, f"the tracking server ended: {log.read_text()[-2000:]}"
        try:
            with urllib.request.urlopen(f"{uri}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < until, f"the tracking server does not answer: {log.read_text()[-2000:]}"
            time.sleep(0.2)
