"""What the table of labels is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Stage = Literal[
    "infra", "output", "decision", "envelope", "json_syntax", "call_set", "tool_name", "keys", "type", "value", "answer"
]
STAGES: tuple[Stage, ...] = (
    "infra",
    "output",
    "decision",
    "envelope",
    "json_syntax",
    "call_set",
    "tool_name",
    "keys",
    "type",
    "value",
    "answer",
)
Form = Literal["arguments", "hermes", "bare", "qwen_xml", "tool_calls", "qa"]

# The tool of the examples, and the one beside it that must not be called.
EXAMPLE_TOOLS: dict[str, dict[str, Any]] = {
    "refund": {
        "type": "object",
        "properties": {
            "orderNo": {"type": "string"},
            "amount": {"type": "number"},
            "qty": {"type": "integer"},
            "urgent": {"type": "boolean"},
            "status": {"type": "string", "enum": ["paid", "pending"]},
            "due": {"type": "string"},
            "note": {"type": ["string", "null"]},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "page": {"type": "integer", "default": 1},
        },
        "additionalProperties": False,
    },
    "cancel": {"type": "object", "properties": {"orderNo": {"type": "string"}}, "additionalProperties": False},
}


@dataclass(frozen=True, slots=True)
class Label:
    """One label. `gold` is the wanted calls' arguments as JSON: an object for one call, a list for several, or `none`.

    `example` is an answer that gets this label as its primary one, `near_miss` an answer whose primary label is
    `near_miss_is` instead (`ok`: strictly right). Both are None for what no answer alone can show.
    """

    stage: Stage
    name: str
    definition: str
    gold: str = ""
    example: str | None = None
    near_miss: str | None = None
    near_miss_is: str = "ok"
    form: Form = "arguments"
    family: Literal["numbers", "identifiers", "keys_and_enums", "json_syntax"] | None = None
