"""The simulator against the real engine: the hits it predicts are those that vLLM counts, request by request."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import requests

from evalsets.load import load_qa, load_tools, load_toolsets
from pipelines.engine.launch import Server, ask, free_port, running
from pipelines.engine.settings import engine_argv, engine_environment
from pipelines.engine_modes import LaunchEngine
from pipelines.serving.generate_log import LogGenerator, Traffic
from pipelines.serving.generated_texts import SuiteTexts
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.request_log import LoggedRequest
from pipelines.serving.simulate import predict_hits

ROOT = Path(__file__).resolve().parents[3]
REQUESTS, ANSWER_TOKENS = 60, 20
CHECKPOINT = os.environ.get("REPLAY_CHECKPOINT")
pytestmark = pytest.mark.heavy


@dataclass(frozen=True)
class Replayed:
    """What the engine said: ids of prompts and answers, cached tokens by request, growth of the two counters."""

    prompts: list[list[int]]
    answers: list[list[int]]
    cached: list[int]
    hits: int
    queries: int


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, since hits do not depend on weights; REPLAY_CHECKPOINT names another one to do it with."""
    if CHECKPOINT:
        return ROOT / CHECKPOINT
    folder = tmp_path_factory.mktemp("model") / "tiny"
    maker = [ROOT / ".venvs/llmcompressor/bin/python", ROOT / "tests/end_to_end/tiny_model.py", folder]
    subprocess.run([str(word) for word in maker], check=True, capture_output=True)
    return folder


def logged(tokens: PromptTokens, traffic: Traffic) -> list[LoggedRequest]:
    items = [*load_qa(ROOT / "evalsets/data/qa.jsonl"), *load_tools(ROOT / "evalsets/data/tool_calls.jsonl")]
    toolsets = load_toolsets(ROOT / "evalsets/data/toolsets.json")
    generator = LogGenerator(traffic, SuiteTexts(items, list(traffic.scenes)), toolsets, tokens.count)
    return list(islice(generator.rows(), REQUESTS))


@pytest.fixture(scope="module", params=[16000, 600], ids=["room for all", "evictions"])
def server(
    request: pytest.FixtureRequest, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    engine = LaunchEngine(
        mode="launch",
        command=[str(ROOT / ".venvs/vllm/bin/python"), "-m", "vllm.entrypoints.openai.api_server"],
        device="cpu",
        dtype="bfloat16",
        max_model_len=8192,
        max_num_seqs=4,
        max_num_batched_tokens=8192,
        prefix_caching=True,
        bind_all_cores=True,
        flags=["--enforce-eager", "--enable-prompt-tokens-details", "--num-gpu-blocks-override", str(request.param)],
        environment={"VLLM_CPU_KVCACHE_SPACE": "1"},
        dialect="hermes",
        concurrency=1,
        start_timeout_s=900,
        request_timeout_s=300,
    )
    port = free_port()
    argv = [*engine_argv(engine, checkpoint, "tiny", port), "--block-size", "32"]
    log = tmp_path_factory.mktemp("engine") / "engine.log"
    with running(argv, engine_environment(engine), port, log, engine.start_timeout_s) as started:
        yield started


def metrics(server: Server) -> str:
    return ask(f"{server.url}/metrics", timeout_s=10).text


def counter(page: str, name: str) -> int:
    return int(sum(float(value) for value in re.findall(rf"^{name}\{{.*\}} (\S+)$", page, re.MULTILINE)))


def replay(server: Server, tokens: PromptTokens, log: list[LoggedRequest]) -> Replayed:
    before = metrics(server)
    answers = [completion(server, tokens, request) for request in log]
    after = metrics(server)
    hits, queries = (
        counter(after, name) - counter(before, name)
        for name in ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total")
    )
    return Replayed(
        [answer["prompt_token_ids"] for answer in answers],
        [answer["choices"][0]["token_ids"] for answer in answers],
        [answer["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in answers],
        hits,
        queries,
    )


def completion(server: Server, tokens: PromptTokens, request: LoggedRequest) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "tiny", "messages": request.chat(), "temperature": 0, "max_tokens": ANSWER_TOKENS}
    body |= {"ignore_eos": True, "return_token_ids": True, "seed": 1}
    if tools := tokens.tools(request):
        body |= {"tools": tools, "tool_choice": "none"}
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(f"{server.url}/v1/chat/completions", json=body, timeout=300)
    assert answer.ok, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_predicted_hits_are_the_engines_own(server: Server, checkpoint: Path) -> None:
    """Cold, warm, with a stamp and warm with it, one after the other on one engine."""
    tokens = PromptTokens(checkpoint, load_toolsets(ROOT / "evalsets/data/toolsets.json"))
    small = Traffic(handbook_chars=250, tenant_chars=30, answer_chars=60, tenants=3, rate=0.2)
    plain, stamped = logged(tokens, small), logged(tokens, replace(small, stamp="system"))
    passes = [replay(server, tokens, log) for log in (plain, plain, stamped, stamped)]
    info = dict(
        re.findall(r'(\w+)="([^"]*)"', re.findall(r"^vllm:cache_config_info\{(.*)\}", metrics(server), re.M)[0])
    )
    block_size, blocks = int(info["block_size"]), int(info["num_gpu_blocks"])

    for log, found in zip((plain, plain, stamped, stamped), passes, strict=True):
        assert [list(tokens.ids(tokens.prompt(request).text)) for request in log] == found.prompts

    prompts = [prompt for found in passes for prompt in found.prompts]
    answers = dict(enumerate(answer for found in passes for answer in found.answers))
    predicted = predict_hits(prompts, block_size, blocks - 1, answers)
    assert predicted == [cached for found in passes for cached in found.cached]
    for number, found in enumerate(passes):
        mine = predicted[number * REQUESTS : (number + 1) * REQUESTS]
        assert (sum(mine), sum(map(len, found.prompts))) == (found.hits, found.queries)
        print(f"pass {number + 1}: {found.hits:,} of {found.queries:,} prompt tokens hit, as predicted")
