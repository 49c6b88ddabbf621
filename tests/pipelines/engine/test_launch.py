"""Starting an engine: what is said of one that dies or hangs, and that it is gone afterwards."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalsets.records import InputError
from pipelines.engine.launch import HINTS, Server, died, first_causes, free_port, running
from tests.pipelines.engine.bench import Bench

ENGINE = """
import http.server, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
"""
LATE_BYTES = "import sys, time; sys.stdout.buffer.write(b'\\xff\\n'); print('loading', flush=True); time.sleep(60)"


def start(code: str, folder: Path, port: int, timeout_s: int = 20) -> None:
    with running([sys.executable, "-c", code, str(port)], dict(os.environ), port, folder / "engine.log", timeout_s):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


def test_an_engine_that_dies_at_start_shows_its_last_lines_and_what_to_do(bench: Bench) -> None:
    sign = "unrecognized arguments"
    lines = [f"line {number}" for number in range(40)] + [f"api_server.py: error: {sign}: --fast"]
    with pytest.raises(InputError) as caught:
        start(f"import sys; print({chr(10).join(lines)!r}); sys.exit(3)", bench.folder, free_port())
    message = str(caught.value)
    assert message.startswith("the engine ended while starting (exit code 3); no item was graded for it.")
    assert str(bench.folder / "engine.log") in message
    shown = [line for line in message.splitlines() if line.startswith("  | ")]
    assert shown == [f"  | {line}" for line in lines[-15:]]
    assert message.endswith(f"What to do: {HINTS[sign]}")


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("OSError: [Errno 12] Cannot allocate memory", "lower VLLM_CPU_KVCACHE_SPACE"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "lower engine.max_model_len"),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
            "--gpu-memory-utilization (engine.flag",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
            "more cards with --tensor-parallel-size",
        ),
        (
            "ValueError: Free memory on device cuda:0 (3.1/79.1 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 71.2 GiB). Decrease it.",
            "or lower --gpu-memory-utilization",
        ),
        (
            "ValueError: To serve at least one request with the model's max seq len (32768), (8.0 GiB KV cache is "
            "needed, which is larger than the available KV cache memory (5.4 GiB). Try increasing it",
            "lower engine.max_model_len, raise --gpu-memory-utilization, or take more cards with --tensor-parallel",
        ),
        ("ValueError: No available memory for the cache blocks. Try increasing", "raise --gpu-memory-utilization"),
        ("OSError: [Errno 28] No space left on device", "free space"),
        ("OSError: [Errno 98] Address already in use", "run again"),
        ("api_server.py: error: unrecognized arguments: --scheduler-policy", "correct engine.flags in the profile"),
        ("ModuleNotFoundError: No module named 'vllm'", "make setup"),
        (
            "ERROR [w.py:1] ValueError: Available memory on node 0 is less than requested memory for kv (900.0 GiB).",
            "lower VLLM_CPU_KVCACHE_SPACE",
        ),
        ("something else", "read the whole log"),
    ],
)
def test_known_signs_in_the_log_become_advice(tmp_path: Path, line: str, advice: str) -> None:
    log = tmp_path / "engine.log"
    log.write_text(f"before\n{line}\nafter\n")
    server = Server("", 0, log, subprocess.Popen(["true"]), frozenset())
    server.process.wait()
    assert advice in str(died("it ended", server)).partition("What to do: ")[2]


def test_what_failed_first_is_shown_though_the_log_ends_otherwise(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    first = "ValueError: no room for 900.0 GiB"
    second = "RuntimeError: Worker failed with error 'no room for 900.0 GiB'"
    lines = [
        "(APIServer pid=1) WARNING [utils.py:2] limit errors like `OSError: [Errno 24] Too many open files`. Raise it",
        f"(Worker pid=3) ERROR 11-29 22:09:35 [multiproc_executor.py:1063] {first}",
        f"(Worker pid=3) ERROR 11-29 22:09:35 [multiproc_executor.py:1063] {first}",
        f"(EngineCore pid=2) ERROR 11-29 22:09:35 [core.py:1510] {second}",
        second,
        *(f"  File line {number}" for number in range(30)),
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}",
    ]
    log.write_text("\n".join(lines))
    server = Server("", 0, log, subprocess.Popen(["true"]), frozenset())
    server.process.wait()
    assert first_causes(log.read_text()) == [first, second]
    said = str(died("it ended", server))
    assert f"What failed first:\n  | {first}\n  | {second}\n" in said


def test_a_command_that_does_not_exist_is_said(bench: Bench) -> None:
    log = bench.folder / "engine.log"
    with (
        pytest.raises(InputError, match=r"(?s)ended while starting.*No such file or directory: 'nowhere/python'"),
        running(["nowhere/python"], dict(os.environ), free_port(), log, 20),
    ):
        pytest.fail("it started")


def test_an_engine_that_hangs_at_start_is_given_up_and_stopped(bench: Bench) -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match=r"(?s)not ready within 1 s; no item was graded.*\| loading"):
        start(LATE_BYTES, bench.folder, free_port(), timeout_s=1)
    assert time.monotonic() - started < 10


def test_a_health_page_that_hangs_counts_against_the_same_time(bench: Bench) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        started = time.monotonic()
        with pytest.raises(InputError, match="not ready within 1 s"):
            start(LATE_BYTES, bench.folder, deaf.getsockname()[1], timeout_s=1)
        assert time.monotonic() - started < 4.5


def test_an_engine_is_reached_past_the_proxy_and_its_port_is_free_afterwards(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    port = free_port()
    start(ENGINE, bench.folder, port)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


def test_an_error_inside_still_stops_the_engine(bench: Bench) -> None:
    port, log = free_port(), bench.folder / "engine.log"
    argv = [sys.executable, "-c", ENGINE, str(port)]
    with pytest.raises(ZeroDivisionError), running(argv, dict(os.environ), port, log, 20) as server:
        assert server.alive()
        assert server.start_s > 0
        1 / 0  # noqa: B018
    assert not server.alive()


@pytest.mark.parametrize("client_too", [False, True])
def test_an_engine_whose_guardian_is_killed_is_ended_all_the_same(bench: Bench, client_too: bool) -> None:
    """Either by the client on its way out, or, were it killed as well, by the next one that starts."""
    log, port = bench.folder / "engine.log", free_port()
    argv = [sys.executable, "-c", ENGINE, str(port)]
    with running(argv, dict(os.environ), port, log, 20) as server:
        server.process.kill()
        server.process.wait()
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        if client_too:
            again = free_port()
            other = [sys.executable, "-c", ENGINE, str(again)]
            with running(other, dict(os.environ), again, log, 20), pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), timeout=5)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    assert not log.with_suffix(".session").exists()
