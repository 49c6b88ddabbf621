"""Driving vLLM's own load generator: one pass of the traffic against a running engine, and its raw result."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsets.records import InputError, write_atomic
from pipelines.serving.load.results import Offered
from pipelines.serving.load.trace import TraceRequest

MODULE = "pipelines.serving.load.bench_process"
STOP_S = 20


@dataclass(frozen=True)
class Target:
    """The engine that is asked: address, model name, and the folder with the tokenizer that counts answers."""

    url: str
    name: str
    tokenizer: Path


@dataclass(frozen=True)
class Bench:
    """A running load generator, and the folder that its files go to."""

    process: subprocess.Popen[str]
    folder: Path
    log: Path

    def measure(self, target: Target, requests: Sequence[TraceRequest], offered: Offered, seed: int) -> dict[str, Any]:
        """Offer `requests` in order and return the generator's detailed result.

        Arrivals of an open loop are a Poisson process, the same for the same `seed`. Answers have exactly the trace's
        lengths: an early end is ignored. Raises `InputError` with the log's name where the generator fails.
        """
        data, result = self.folder / "trace.jsonl", self.folder / "result.json"
        rows = [{"prompt": row.prompt, "output_tokens": row.output_tokens} for row in requests]
        write_atomic(data, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
        result.unlink(missing_ok=True)
        arguments = [*common_arguments(target, data), *offer(offered), "--seed", str(seed)]
        arguments += ["--num-prompts", str(len(rows)), "--save-result", "--save-detailed", "--disable-tqdm"]
        self._run([*arguments, "--result-dir", str(self.folder), "--result-filename", result.name])
        found: dict[str, Any] = json.loads(result.read_text("utf-8"))
        return found

    def _run(self, arguments: Sequence[str]) -> None:
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise InputError("the load generator was started without pipes; start it with running_bench")
        try:
            stdin.write(json.dumps(list(arguments)) + "\n")
            stdin.flush()
            answer = stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if answer != "done":
            raise InputError(f"the load generator {answer or 'ended'}; its log is {self.log}; correct that, run again")


def common_arguments(target: Target, data: Path) -> list[str]:
    """What every run of the load generator is given: the engine, the traffic and greedy answers of its lengths."""
    return [
        *("--backend", "openai", "--base-url", target.url, "--endpoint", "/v1/completions"),
        *("--model", target.name, "--tokenizer", str(target.tokenizer)),
        *("--dataset-name", "custom", "--dataset-path", str(data), "--custom-output-len", "-1"),
        *("--skip-chat-template", "--disable-shuffle", "--ignore-eos", "--temperature", "0"),
    ]


def offer(offered: Offered) -> list[str]:
    """The arguments for an open or a closed loop."""
    if offered.rate is not None:
        return ["--request-rate", str(offered.rate)]
    return ["--request-rate", "inf", "--max-concurrency", str(offered.concurrency)]


@contextmanager
def running_bench(python: str, environment: dict[str, str], folder: Path) -> Iterator[Bench]:
    """A load generator in the engine's interpreter, ended on the way out. It ends by itself when this process does."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "bench.log"
    pipe = subprocess.PIPE
    with log.open("w") as err:
        process = subprocess.Popen(
            [python, "-m", MODULE], stdin=pipe, stdout=pipe, stderr=err, env=environment, text=True
        )
    bench = Bench(process, folder, log)
    try:
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            raise InputError(f"the load generator did not start; its log is {log}; run: make setup")
        yield bench
    finally:
        if process.stdin is not None:
            with suppress(BrokenPipeError):  # it has ended already
                process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
