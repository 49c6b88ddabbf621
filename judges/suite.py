"""A whole suite judged at once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsets.items import Dialect, QaItem, ToolItem, Toolset
from evalsets.records import InputError, unique_by_id
from evalsets.responses import Response, answer_id
from judges.calls import judge_call
from judges.qa import judge_answer
from judges.verdicts import Verdict


@dataclass(frozen=True)
class Setting:
    """What judging needs besides items and answers.

    `dialect` is the envelope that the model is taught, `engine_reads` whether the engine has a parser for it.
    """

    toolsets: Mapping[str, Toolset]
    dialect: Dialect
    engine_reads: bool


def judge_suite(
    items: Sequence[QaItem | ToolItem], runs: int, responses: Sequence[Response], setting: Setting, where: str
) -> list[Verdict]:
    """One verdict for each item and pass: pass by pass, in the order of `items`.

    Raises `InputError` (with `where`, the responses' file) when an answer is missing, not asked for, or there twice.
    """
    wanted = {answer_id(item.id, run): item for run in range(runs) for item in items}
    answered = unique_by_id(responses, "answer_id", where)
    if wrong := sorted(answered.keys() ^ wanted.keys()):
        raise InputError(f"{where}: ids differ from the suite's: {', '.join(wrong[:20])}; run generate again")
    return [_verdict(item, answered[name], setting) for name, item in wanted.items()]


def _verdict(item: QaItem | ToolItem, response: Response, setting: Setting) -> Verdict:
    if isinstance(item, QaItem):
        return judge_answer(item, response)
    offered = setting.toolsets[item.toolset].tools
    return judge_call(item, offered, response, setting.dialect, setting.engine_reads)
