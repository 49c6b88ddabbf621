"""The lines that end a run: the decision's numbers, the next commands, and the exit code in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.reporting.summary import run_summary
from tests.pipelines.report_records import decision

REPORT = Path("runs/demo/report.md")


def test_the_table_has_every_candidate_with_its_numbers() -> None:
    assert run_summary(decision(), REPORT).split("\n")[:7] == [
        "profile demo, baseline bf16",
        "",
        "scene  serves  candidate  verdict  suite  losses  gains  n   lower pp  margin pp  not passed",
        "tools          awq-int4   FAIL     tools  5       2      48  -14.62    16.00      "
        "noninferiority FAIL, must_pass FAIL",
        "tools  yes     fp8        PASS     tools  5       2      48  -14.62    16.00",
        "tools          bf16       PASS",
        "",
    ]


def test_it_says_where_the_report_lies_and_how_to_open_the_ui() -> None:
    lines = run_summary(decision(), REPORT).split("\n")
    assert lines[-3:-1] == ["report: runs/demo/report.md", "MLflow UI: make ui"]


@pytest.mark.parametrize(
    ("exit_code", "require", "outcome", "broken", "said"),
    [
        (0, "none", "PASS", (), "0, no scene requires a candidate: a release may go ahead"),
        (0, "fp8", "PASS", (), "0, every required candidate passes: a release may go ahead"),
        (1, "fp8", "FAIL", (), "1, a required candidate FAILs: a release is blocked"),
        (
            2,
            "fp8",
            "INCONCLUSIVE",
            ("fp8: served\notherwise", "more"),
            "2, something could not be judged (fp8: served otherwise; 2 in all): a release is blocked until the run is "
            "repaired",
        ),
        (
            3,
            "fp8",
            "INCONCLUSIVE",
            (),
            "3, a required candidate is INCONCLUSIVE: a release is blocked until more items or runs decide it",
        ),
    ],
)
def test_the_exit_code_is_said_in_words(
    exit_code: int, require: str, outcome: str, broken: tuple[str, ...], said: str
) -> None:
    made = decision(exit_code, require, {"fp8": outcome}, broken=broken)
    assert run_summary(made, REPORT).split("\n")[-1] == f"exit code of the decision: {said}"


@pytest.mark.parametrize("text", ["\x1b[31mred", "two\nlines", "\u202egnihton", "\ud800"])
def test_a_terminal_sees_no_control_character(text: str) -> None:
    made = decision(2, broken=(text,)).model_copy(update={"profile": text})
    scenes = [scene.model_copy(update={"scene": text}) for scene in made.scenes]
    made = made.model_copy(update={"scenes": scenes})
    shown = run_summary(made, REPORT)
    assert len(shown.split("\n")) == 10
    assert not set(shown) & set("\x1b\u202e\ud800")
