"""Loss cards: one item the baseline had right and a candidate has wrong, with everything needed to see why."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile

from evalsets.items import GoldArgument, GoldCall, QaItem, Suite, ToolItem
from evalsets.responses import answer_id
from judges.findings import spell
from judges.taxonomy import LABELS, rank
from judges.verdicts import Verdict
from pipelines.reporting.differences import side_by_side
from pipelines.reporting.material import Material
from pipelines.reporting.text import excerpt, inline, joined
from registry.evidence import NewLoss

MAX_CARDS = 20  # per candidate and suite
QUESTION_LIMIT = 800
GOLD_LIMIT = 800
FINDINGS_LIMIT = 800
MAX_FINDINGS = 5


@dataclass(frozen=True)
class LossCard:
    """One lost item: what was asked and wanted, both raw answers, and what the judge found in the candidate's.

    `tools` are the names of the tools at hand. Where an item was asked several times, the answers are those of the
    first pass that the candidate has wrong and the baseline right, else of the first that the candidate has wrong.
    """

    loss: NewLoss
    item: QaItem | ToolItem
    tools: Sequence[str]
    verdict: Verdict
    baseline: str
    candidate: str


@dataclass(frozen=True)
class Pile:
    """The cards of one candidate and suite, best first, and how many losses there are in all."""

    run: str
    suite: Suite
    cards: Sequence[str]
    losses: int


def piles(material: Material) -> list[Pile]:
    """A pile per candidate and suite, each of up to `MAX_CARDS` cards."""
    return [
        Pile(
            run=run,
            suite=suite,
            cards=[
                _markdown(material, run, loss_card(material, run, suite, loss))
                for loss in ordered(result.new_losses)[:MAX_CARDS]
            ],
            losses=len(result.new_losses),
        )
        for run, comparison in material.candidates.items()
        for suite, result in comparison.suites.items()
    ]


def ordered(losses: Sequence[NewLoss]) -> list[NewLoss]:
    """Must-pass items first, then by the precedence of the label, then in the suite's order; unknown labels last."""
    last = (sys.maxsize, 0)
    return sorted(losses, key=lambda loss: (not loss.must_pass, rank(loss.label) if loss.label in LABELS else last))


def gold(item: QaItem | ToolItem) -> str:
    """What is right, as text: the accepted answers and how they are matched, or the calls that are wanted."""
    if isinstance(item, QaItem):
        return f"{item.match.kind}: {' | '.join(item.answers)}"
    if item.expect == "no_call":
        return "no call"
    head = ["no call, or:"] if item.expect == "either" else []
    head += ["in this order:"] if item.order == "strict" and len(item.calls) > 1 else []
    return "\n".join([*head, *map(_call, item.calls)])


def findings(verdict: Verdict) -> str:
    """What the judge found in the candidate's answer, a line each, with what was expected and what came."""
    lines = []
    for error in verdict.errors[:MAX_FINDINGS]:
        where = f" at {error.path}" if error.path else ""
        seen = [
            f"{word} {text}" for word, text in (("expected", error.expected), ("got", error.got)) if text is not None
        ]
        lines.append(f"{error.kind}{where}{': ' if seen else ''}{', '.join(seen)}")
    if len(verdict.errors) > MAX_FINDINGS:
        lines.append(f"and {len(verdict.errors) - MAX_FINDINGS} more")
    return "\n".join(lines)


def loss_card(material: Material, run: str, suite: Suite, loss: NewLoss) -> LossCard:
    """Everything that is shown of an item that `run` lost."""
    item = material.items[suite][loss.item_id]
    answer = next(_lost_answers(material, run, suite, loss.item_id))
    baseline = material.responses[material.decision.baseline][suite]
    tools = [] if isinstance(item, QaItem) else material.toolsets[item.toolset].tools
    return LossCard(
        loss=loss,
        item=item,
        tools=[tool.function.name for tool in tools],
        verdict=material.verdicts[run][suite][answer],
        baseline=baseline[answer].raw,
        candidate=material.responses[run][suite][answer].raw,
    )


def question(item: QaItem | ToolItem) -> str:
    """The user's last message."""
    asked = [message.content for message in item.messages if message.role == "user" and message.content]
    return asked[-1] if asked else "(no user message)"


def _lost_answers(material: Material, run: str, suite: Suite, item_id: str) -> Iterator[str]:
    """The ids of the candidate's wrong answers to the item, those that the baseline has right first; else the first."""
    before, after = material.verdicts[material.decision.baseline][suite], material.verdicts[run][suite]
    answers = takewhile(after.__contains__, (answer_id(item_id, number) for number in count()))
    wrong = [answer for answer in answers if not after[answer].strict_ok]
    yield from sorted(wrong or [item_id], key=lambda answer: answer not in before or not before[answer].strict_ok)


def _markdown(material: Material, run: str, card: LossCard) -> str:
    loss, item, verdict = card.loss, card.item, card.verdict
    shown = side_by_side(card.baseline, card.candidate)
    marks = ", **must pass**" if loss.must_pass else ""
    tolerated = (
        f"Right after lossless recovery: {inline(', '.join(verdict.recoveries))}." if verdict.tolerant_ok else ""
    )
    offered = f" (tools at hand: {inline(', '.join(card.tools))})" if isinstance(item, ToolItem) else ""
    return joined(
        f"#### {inline(loss.item_id)}: {inline(loss.label)}{marks}",
        tolerated,
        "The user's last message:",
        excerpt(question(item), QUESTION_LIMIT),
        f"Gold{offered}:",
        excerpt(gold(item), GOLD_LIMIT),
        f"{inline(material.decision.baseline)}, raw:",
        shown.baseline,
        f"{inline(run)}, raw:",
        shown.candidate,
        "What the judge found:" if verdict.errors else "",
        excerpt(findings(verdict), FINDINGS_LIMIT) if verdict.errors else "",
    )


def _call(call: GoldCall) -> str:
    return f"{call.name}({', '.join(f'{name}={_argument(given)}' for name, given in call.args.items())})"


def _argument(given: GoldArgument) -> str:
    return " | ".join(map(spell, given.any_of)) + (" (or left out)" if given.omit_ok else "")
