"""The data card says what the data are: its table is the lint's, its blind answers are judged here."""

from __future__ import annotations

from pathlib import Path

from evalsets.items import QaItem, ToolItem
from evalsets.lint.folder import read_folder
from evalsets.lint.tables import folder_tables
from evalsets.records import Record, file_sha256, read_record, read_rows
from evalsets.responses import Response
from judges.calls import judge_call
from judges.metrics import Metrics
from judges.qa import judge_answer
from pipelines.reporting.slices import difficulty
from registry.evidence import Comparison

DATA = Path("evalsets/data")
CARD = (DATA / "README.md").read_text()
FOLDER = read_folder(DATA)


class BlindAnswer(Record):
    """What a reader answered who saw the prompt alone; calls in their tags."""

    id: str
    answer: str


ANSWERS = read_rows(DATA / "blind_answers.jsonl", BlindAnswer)
ITEMS: dict[str, QaItem | ToolItem] = {item.id: item for item in FOLDER.qa} | {item.id: item for item in FOLDER.tools}


def right(blind: BlindAnswer) -> bool:
    item = ITEMS[blind.id]
    if isinstance(item, QaItem):
        return judge_answer(item, Response(item_id=item.id, suite="qa", status="ok", raw=blind.answer)).strict_ok
    response = Response(item_id=item.id, suite="tools", status="ok", raw=blind.answer)
    return judge_call(item, FOLDER.offered()[item.toolset].tools, response, "hermes", False).strict_ok


def test_the_table_is_the_lints() -> None:
    assert f"```text\n{folder_tables(FOLDER)}\n```" in CARD


def test_every_item_was_answered_blind_and_as_the_card_says() -> None:
    assert [blind.id for blind in ANSWERS] == list(ITEMS)
    wrong = [blind.id for blind in ANSWERS if not right(blind)]
    assert f"{len(ANSWERS) - len(wrong)} of {len(ANSWERS)} answers are judged right" in CARD
    assert all(item_id in CARD for item_id in wrong)
    assert file_sha256(DATA / "blind_answers.jsonl") in CARD


EVIDENCE = Path("evidence/local-full")


def measured_rows() -> list[str]:
    """The rows of the card's two tables of measurements, from the published run of all items."""
    metrics = read_record(EVIDENCE / "metrics" / "bf16.json", Metrics).suites
    rows = []
    for suite, found in metrics.items():
        rows.append(
            f"| {suite} | all | {found.n} | {found.strict_ok} | {100 * found.strict_ok / found.judged:.1f} % | |"
        )
        for names in (found.domains, found.tags):
            for name, part in sorted(names.items(), key=lambda pair: (-pair[1].n, pair[0])):
                hard = difficulty(part)
                if names is found.domains or hard:
                    share = f"{100 * part.strict_ok / part.judged:.1f} %"
                    rows.append(
                        f"| {suite} | {name} | {part.n} | {part.strict_ok} | {share} | {hard} |".replace("|  |", "| |")
                    )
    for run in ("awq-int4", "fp8", "baseline-again"):
        for suite, compared in read_record(EVIDENCE / "comparisons" / f"{run}.json", Comparison).suites.items():
            table = compared.strict
            psi = f"{100 * (table.losses + table.gains) / table.n:.1f} %"
            deff = f"{compared.design_effect:.2f}"
            rows.append(f"| {run} | {suite} | {table.n} | {table.losses} | {table.gains} | {psi} | {deff} |")
    return rows


def test_difficulty_and_discordance_are_those_of_the_published_run() -> None:
    assert [row for row in measured_rows() if row not in CARD] == []
