"""What came back: one row per item and run, as the engine answered it or as it failed to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from evalsets.items import FunctionCall, Suite
from evalsets.records import Record


def answer_id(item_id: str, run: int) -> str:
    """The name of the answer to an item in a pass (from 0): the item's id, and from the second pass on `id#2`."""
    return item_id if run == 0 else f"{item_id}#{run + 1}"


class EngineParse(Record):
    """What the engine's own tool parser made of the same text."""

    content: str | None
    tool_calls: list[FunctionCall]


class Retry(Record):
    """One failed attempt before the answer: what failed and how long was waited after it, in seconds."""

    error: str
    waited_s: float


class Logprobs(Record):
    """The chosen tokens' log-probabilities of one answer, kept beside the answers, not in them."""

    item_id: str
    run: int = 0
    logprobs: list[float]


class Response(Record):
    """One answer to an item in pass `run` (from 0). `status: infra`: no answer was had (`error`), never a wrong one.

    `raw` is rebuilt from the returned token ids, special tokens kept. `capped` is true when the completion used
    all the tokens it was allowed, whatever `finish_reason` says. `logprobs` are those of the chosen tokens.
    """

    item_id: str
    suite: Suite
    run: Annotated[int, Field(ge=0)] = 0
    status: Literal["ok", "infra"]
    raw: str = ""
    token_ids: list[int] = []
    finish_reason: str | None = None
    capped: bool = False
    prompt_tokens: int = 0
    prompt_sha256: str = ""
    parsed: EngineParse | None = None
    logprobs: list[float] | None = None
    retries: list[Retry] = []
    error: str | None = None

    @property
    def answer_id(self) -> str:
        """See `answer_id`."""
        return answer_id(self.item_id, self.run)
