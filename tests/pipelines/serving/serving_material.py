"""What the serving tests share: requests, a small generated log, and the repository's suites."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from evalsets.load import load_qa, load_tools, load_toolsets
from pipelines.serving.generate_log import LogGenerator, Traffic
from pipelines.serving.generated_texts import SuiteTexts
from pipelines.serving.request_log import LoggedRequest

ROOT = Path(__file__).resolve().parents[3]
TOOLSETS = load_toolsets(ROOT / "evalsets/data/toolsets.json")
SUITES = [*load_qa(ROOT / "evalsets/data/qa.jsonl"), *load_tools(ROOT / "evalsets/data/tool_calls.jsonl")]


def make_request(system: str = "", user: str = "hello", **other: Any) -> LoggedRequest:
    """A request of one user turn, after a system text if there is one."""
    messages = [{"role": "system", "content": system}] if system else []
    fields: dict[str, Any] = {
        "time": "2026-03-05T09:00:00Z",
        "tenant": "t1",
        "scene": "qa",
        "session": "s1",
        "turn": 1,
        "messages": [*messages, {"role": "user", "content": user}],
        "output_tokens": 5,
    }
    return LoggedRequest.model_validate(fields | other)


def make_tool(name: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """A tool as the API takes it."""
    parameters = {"type": "object", "properties": {}} if schema is None else schema
    return {"type": "function", "function": {"name": name, "description": "d", "parameters": parameters}}


def generated(rows: int, **traffic: Any) -> list[LoggedRequest]:
    """A generated log with short texts, an answer's characters counted as its tokens."""
    small = Traffic(**({"handbook_chars": 200, "tenant_chars": 40, "answer_chars": 60, "tenants": 5} | traffic))
    generator = LogGenerator(small, SuiteTexts(SUITES, list(small.scenes)), TOOLSETS, len)
    return list(islice(generator.rows(), rows))
