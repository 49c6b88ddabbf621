"""The exit code, the job summary and the JUnit file of recomputed evidence."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipelines.ci.junit import junit
from pipelines.ci.outcome import Outcome, exit_code, forged_reports
from pipelines.ci.page import CUT, MAX_BYTES, page
from tests.pipelines.report_records import decision


def outcome(
    code: int = 0, said: str = "scene tools: fp8", report: str = "# Report\n", differs: bool = False
) -> Outcome:
    return Outcome("demo", code, said, None if code == 2 else decision(), report, differs)


@pytest.mark.parametrize(
    ("codes", "problems", "expected"),
    [
        ([0], [], 0),
        ([0, 3], [], 3),
        ([3, 1], [], 1),
        ([1, 2], [], 2),
        ([0], ["x"], 2),
        ([], [], 2),
        ([], ["x"], 2),
        ([139], [], 2),
    ],
)
def test_the_worst_exit_code_counts(codes: list[int], problems: list[str], expected: int) -> None:
    assert exit_code([Outcome("demo", code, "") for code in codes], problems) == expected


def test_a_forged_report_is_a_problem_unless_a_person_looks_anyway() -> None:
    forged = [outcome(), outcome(differs=True)]
    assert forged_reports(forged, []) == [
        "evidence/demo/report.md: not the report of this evidence; commit the one that a run writes"
    ]
    assert forged_reports(forged, ["pipelines/report.py"]) == []
    assert forged_reports(forged[:1], []) == []


def test_the_summary_says_what_was_decided_and_shows_the_report() -> None:
    text = page([outcome(3, "scene tools: bf16")], [], {})
    assert text.startswith("# Release gate: exit code 3, a required candidate is INCONCLUSIVE\n")
    assert "\n````text\nscene tools: bf16\n````\n" in text
    assert text.endswith("\n# Report\n\n")
    assert "person" not in text


def test_the_summary_names_what_a_person_must_review() -> None:
    text = page([outcome(differs=True)], [], {"judges/a.py": "how an answer is judged"})
    assert "## A person has to review this" in text
    assert "\n- judges/a\\.py: how an answer is judged\n" in text
    assert "**evidence/demo/report\\.md is not the report below**" in text


def test_the_summary_says_why_evidence_is_not_usable() -> None:
    text = page([], ["evidence/<b>: `gone`"], {})
    assert text.startswith("# Release gate: exit code 2, something could not be judged\n")
    assert "\n- evidence/&lt;b&gt;&#58; \\`gone\\`\n" in text


@pytest.mark.parametrize("size", [0, MAX_BYTES // 3, MAX_BYTES])
@pytest.mark.parametrize("mark", ["x", "评"])
def test_the_summary_is_never_too_long(size: int, mark: str) -> None:
    text = page([outcome(report=mark * size)], [], {})
    assert len(text.encode()) <= MAX_BYTES
    fits = len(mark.encode()) * size < MAX_BYTES - 1000
    assert text.endswith(CUT) is not fits


@settings(deadline=None)
@given(st.text(alphabet="`~\n ab评", max_size=60))
@example("a\n`````\n# A heading of its own")
def test_no_text_ends_its_own_block(said: str) -> None:
    lines = page([outcome(said=said, report="")], [], {}).splitlines()
    fence = next(line for line in lines if line.startswith("````")).removesuffix("text")
    closing = [line for line in lines if line.startswith(fence) and not line.endswith("text")]
    assert closing == [fence]


@pytest.mark.parametrize(
    ("require", "verdicts", "expected"),
    [
        ("none", {}, None),
        ("fp8", {}, None),
        ("fp8", {"fp8": "FAIL"}, "FAIL"),
        ("fp8", {"fp8": "INCONCLUSIVE"}, "INCONCLUSIVE"),
        ("bf16", {"fp8": "FAIL"}, None),
    ],
)
def test_junit_fails_a_scene_whose_required_candidate_does_not_pass(
    require: str, verdicts: Mapping[str, str], expected: str | None
) -> None:
    made = decision(require=require, outcomes=verdicts, text="内容 <b>\x00]]>")
    root = ElementTree.fromstring(junit([Outcome("demo", 0, "", made)], []))
    suite = root.find("testsuite[@name='demo']")
    assert suite is not None
    assert [case.get("name") for case in suite] == ["recomputed", "tools"]
    failures = suite.findall("testcase/failure")
    assert [failure.get("type") for failure in failures] == ([] if expected is None else [expected])
    assert suite.get("failures") == str(len(failures))
    assert all(
        f"fp8: {expected}, " in failure.get("message", "") and "内容 <b>" in (failure.text or "")
        for failure in failures
    )


def test_junit_has_an_error_where_nothing_could_be_recomputed() -> None:
    root = ElementTree.fromstring(junit([outcome(2, "error: decision.json: differs")], ["no evidence"]))
    assert [suite.get("errors") for suite in root] == ["1", "1"]
    assert [error.text for error in root.iter("error")] == ["no evidence", "exit code 2\nerror: decision.json: differs"]
