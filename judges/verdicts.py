"""What a judge returns: one verdict per answer, with every error found and the one that explains it."""

from __future__ import annotations

from typing import Literal

from evalsets.items import Suite
from evalsets.records import Record
from evalsets.responses import answer_id

JUDGE_VERSION = "1"


class Error(Record):
    """One thing wrong with an answer.

    `kind` is a label of `judges.taxonomy` (such as `float_drift` or `json_syntax.trailing_comma`), `path` a JSON
    pointer into the call (`/0/arguments/amount`) or empty, `span` start and end offsets in the raw text.
    """

    kind: str
    path: str = ""
    expected: str | None = None
    got: str | None = None
    span: tuple[int, int] | None = None


class EngineVerdict(Record):
    """The verdict on what the engine's own tool parser made of the same text.

    `not_applicable`: no engine parser reads the dialect, or the suite has no calls.
    """

    status: Literal["judged", "not_applicable"]
    ok: bool | None = None
    primary: str | None = None


class Verdict(Record):
    """The judgement of one answer. `strict_ok` implies `tolerant_ok`; `unjudged` has neither.

    `primary` is the label of the first error in the order of precedence, or None where strict_ok.
    `recoveries` names the lossless repairs that the tolerant verdict needed, in the order they were applied.
    """

    item_id: str
    suite: Suite
    run: int = 0
    status: Literal["judged", "unjudged"]
    strict_ok: bool = False
    tolerant_ok: bool = False
    primary: str | None = None
    errors: list[Error] = []
    recoveries: list[str] = []
    engine: EngineVerdict = EngineVerdict(status="not_applicable")
    completion_tokens: int = 0
    raw_sha256: str = ""
    judge_version: str = JUDGE_VERSION

    @property
    def answer_id(self) -> str:
        """The item's id, with its pass from the second on (`evalsets.responses.answer_id`)."""
        return answer_id(self.item_id, self.run)
