"""The stage writes all three reports of one decision, the same ones again; loss cards of items asked several times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from evalsets.responses import Response
from judges.verdicts import Verdict
from pipelines.layout import Layout
from pipelines.profiles import render
from pipelines.report import main
from pipelines.reporting.loss_cards import loss_card
from tests.pipelines.report_html_reader import read
from tests.pipelines.report_material import material, write

LAYOUT = Layout.of("demo")
REPORTS = [LAYOUT.report, LAYOUT.report_html, LAYOUT.report_xml]


def test_the_stage_writes_three_reports_and_the_same_ones_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(render(write(material("内容 <b>")), Path("profiles/demo.yaml")), "utf-8")
    main([])
    assert [path.name for path in REPORTS] == ["report.md", "report.html", "report.xml"]
    first = [path.read_bytes() for path in REPORTS]
    page = read(first[1].decode())
    assert page.told.count("内容 <b> wrong in fp8") == 6
    assert [suite.get("name") for suite in ET.fromstring(first[2])] == ["tools"]
    main([])
    assert [path.read_bytes() for path in REPORTS] == first


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ([True, True], [True, False], "second"),
        ([True, True], [False, False], "first"),
        ([False, True], [False, False], "second"),
        ([False, True], [False, True], "first"),
    ],
)
def test_a_card_shows_the_pass_that_the_candidate_lost(before: list[bool], after: list[bool], shown: str) -> None:
    made = material()
    [loss, *_] = made.bundle.comparisons["fp8"].suites["tools"].new_losses
    ids = [loss.item_id, f"{loss.item_id}#2"]

    def verdicts(run: str, right: list[bool]) -> dict[str, Verdict]:
        one = made.verdicts[run]["tools"][ids[0]]
        return {ids[n]: one.model_copy(update={"run": n, "strict_ok": right[n]}) for n in range(2)}

    def responses(run: str) -> dict[str, Response]:
        one = made.responses[run]["tools"][ids[0]]
        return {ids[n]: one.model_copy(update={"run": n, "raw": ["first", "second"][n]}) for n in range(2)}

    repeated = replace(
        made,
        verdicts={"bf16": {"tools": verdicts("bf16", before)}, "fp8": {"tools": verdicts("fp8", after)}},
        responses={run: {"tools": responses(run)} for run in ("bf16", "fp8")},
    )
    card = loss_card(repeated, "fp8", "tools", loss)
    assert (card.baseline, card.candidate) == (shown, shown)
