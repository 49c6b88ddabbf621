"""The exported configs in LiteLLM itself: its router loads them, its proxy splits, keeps sessions and falls back."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from scipy.stats import binom

from pipelines.engine.launch import free_port
from registry.release.backends import Backends, Route
from registry.release.litellm_config import litellm_yaml
from tests.registry.release.golden_files import GOLDEN, routes
from tests.registry.release.litellm_bench import LITELLM, Answer, FakeEngine, ask, proxy, running

pytestmark = pytest.mark.heavy
SHARE = 0.2
REQUESTS = 300
SESSIONS = 60
CHANCE = 1e-6  # of a right split falling outside its bounds
LOAD = """
import json, sys, yaml
from litellm import Router

for path in sys.argv[1:]:
    config = yaml.safe_load(open(path, encoding="utf-8"))
    router = Router(model_list=config["model_list"], **config["router_settings"])
    weights = [deployment["litellm_params"]["weight"] for deployment in router.model_list]
    print("RESULT", json.dumps([router.get_model_names(), weights, router.fallbacks]))
"""
PROMQL = """
import json, sys
from promql_parser import parse

for text in json.load(sys.stdin):
    parse(text)
print("parsed")
"""


@dataclass
class Seen:
    """What became of the requests of each part, and the model names that the engines were asked for."""

    split: list[Answer]
    tools: list[Answer]
    sessions: dict[str, list[Answer]]
    asked: dict[str, dict[str, int]]
    without_fp8: list[Answer]
    without_awq: list[Answer]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """One proxy from the exported file: all engines alive, then one after the other dead."""
    engines = {name: FakeEngine(name, free_port()) for name in ("awq-int4", "fp8", "bf16")}
    backends = Backends(backends={name: [f"http://127.0.0.1:{engine.port}"] for name, engine in engines.items()})
    qa, tools, contract = routes()
    config = tmp_path_factory.mktemp("proxy") / "litellm.yaml"
    config.write_text(litellm_yaml([Route(qa.release, SHARE), tools, contract], backends), "utf-8")

    async def drive(url: str) -> Seen:
        async with running(list(engines.values())):
            split = await ask(url, "qa", [None] * REQUESTS)
            on_tools = await ask(url, "tools", [None] * 20)
            asked = {name: dict(engine.asked) for name, engine in engines.items()}
            names: list[str | None] = [f"session-{number}" for number in range(SESSIONS)]
            # The first request of a session settles where it goes: those after it come once it is answered.
            replies = [await ask(url, "qa", names) for _ in range(3)]
            sessions = {str(name): [reply[index] for reply in replies] for index, name in enumerate(names)}
            await engines["fp8"].stop()
            without_fp8 = await ask(url, "tools", [None] * 40)
            await engines["awq-int4"].stop()
            return Seen(split, on_tools, sessions, asked, without_fp8, await ask(url, "qa", [None] * 40))

    with proxy(config, free_port()) as url:
        return asyncio.run(drive(url))


def counted(answers: list[Answer]) -> Counter[tuple[int, str]]:
    return Counter((answer.status, answer.variant) for answer in answers)


def test_sessions_without_a_name_are_split_as_exported(seen: Seen) -> None:
    found = counted(seen.split)
    assert found.keys() == {(200, "awq-int4"), (200, "bf16")}
    least, most = binom.interval(1 - CHANCE, REQUESTS, SHARE)
    assert least <= found[200, "awq-int4"] <= most < REQUESTS / 2


def test_each_engine_is_asked_for_what_it_serves_and_nothing_else(seen: Seen) -> None:
    names = {served.variant: served.served_name for route in routes() for served in route.release.all_served}
    assert {variant: set(asked) for variant, asked in seen.asked.items()} == {
        variant: {name} for variant, name in names.items()
    }
    assert counted(seen.tools) == {(200, "fp8"): 20}
    assert seen.asked["fp8"][names["fp8"]] == 20


def test_the_proxy_says_which_variant_spoke(seen: Seen) -> None:
    said: dict[str, set[str]] = defaultdict(set)
    for answer in [*seen.split, *seen.tools]:
        said[answer.deployment].add(answer.variant)
    assert said == {"qa/1/awq-int4": {"awq-int4"}, "qa/2/bf16": {"bf16"}, "tools/1/fp8": {"fp8"}}


def test_a_session_stays_with_one_variant(seen: Seen) -> None:
    variants = [{answer.variant for answer in answers} for answers in seen.sessions.values()]
    assert all(len(found) == 1 for found in variants)
    assert set.union(*variants) == {"awq-int4", "bf16"}


def test_a_dead_engine_falls_back_as_exported(seen: Seen) -> None:
    assert counted(seen.without_fp8) == {(200, "bf16"): 40}
    assert {answer.deployment for answer in seen.without_fp8} == {"tools-fallback/1/bf16"}


def test_a_dead_canary_leaves_its_sessions_to_the_others(seen: Seen) -> None:
    assert counted(seen.without_awq) == {(200, "bf16"): 40}


def test_litellms_router_loads_every_golden_config() -> None:
    paths = sorted(GOLDEN.rglob("litellm.yaml"))
    done = subprocess.run(
        [str(LITELLM / "python"), "-c", LOAD, *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    found = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert len(found) == len(paths) == 4, done.stderr[-2000:]
    for path, (names, weights, fallbacks) in zip(paths, found, strict=True):
        config = yaml.safe_load(path.read_text("utf-8"))
        assert set(names) == {entry["model_name"] for entry in config["model_list"]}
        assert weights == [entry["litellm_params"]["weight"] for entry in config["model_list"]]
        assert (fallbacks or []) == config["router_settings"]["fallbacks"]


def expressions(folder: Path) -> list[str]:
    (group,) = yaml.safe_load((folder / "alerts.yaml").read_text("utf-8"))["groups"]
    board: dict[str, Any] = json.loads((folder / "dashboard.json").read_text("utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    # Grafana puts a duration there before it asks.
    return [rule["expr"] for rule in group["rules"]] + [text.replace("$__rate_interval", "5m") for text in asked]


@pytest.mark.parametrize("scene", ["qa", "tools", "contract"])
def test_a_promql_parser_reads_every_expression(scene: str) -> None:
    asked = expressions(GOLDEN / scene)
    for texts, code in ((asked, 0), ([*asked, "sum(rate(x[5m])"], 1)):
        done = subprocess.run(
            [str(LITELLM / "python"), "-c", PROMQL],
            input=json.dumps(texts),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr[-2000:]
