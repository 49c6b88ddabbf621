"""A hub that limits requests, on loopback, and the real hub client: it waits and goes on, or says why it stopped."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REVISION = "c" * 40
FETCH = f"from quantize.sources import base_from_hub; print(base_from_hub('a/b', '{REVISION}'))"


@contextmanager
def hub(limited: int) -> Iterator[str]:
    """A hub with one file that answers its first `limited` requests for the model with 429."""
    asked = 0

    class Hub(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal asked
            about_the_model = "/a/b/" in self.path
            asked += about_the_model
            if about_the_model and asked <= limited:
                self._answer(429, b"", {"Retry-After": "0"})
            elif self.path.startswith("/api/"):
                files = [{"type": "file", "oid": "d" * 40, "size": 2, "path": "config.json"}]
                found = files if "/tree/" in self.path else {}
                self._answer(200, json.dumps(found).encode(), {"Content-Type": "application/json"})
            else:
                self._answer(200, b"{}", {"X-Repo-Commit": REVISION, "ETag": f'"{"d" * 40}"'})

        do_HEAD = do_GET

        def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: tests are quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def fetch(url: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-c", FETCH]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_a_limit_is_waited_out(tmp_path: Path) -> None:
    with hub(limited=1) as url:
        done = fetch(url, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (Path(done.stdout.strip().splitlines()[-1]) / "config.json").read_text() == "{}"


@pytest.mark.heavy
def test_a_limit_that_stays_is_said(tmp_path: Path) -> None:
    """Heavy: the client waits for seconds before it gives up."""
    with hub(limited=1000) as url:
        done = fetch(url, tmp_path)
    assert done.returncode == 1
    assert "429 Too Many Requests" in done.stderr
    assert "check the network, HF_TOKEN and the revision" in done.stderr
