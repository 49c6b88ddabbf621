"""The page: what stands where, what a hostile text can do to it (nothing), and how large it gets."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from judges.metrics import Disagreement, Metrics
from pipelines.params import AGAIN
from pipelines.reporting.page import MAX_BYTES, page
from tests.pipelines.report_material import material, with_decision
from tests.pipelines.report_records import decision
from tests.pipelines.report_settings import profile

GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
INLINE = {"text", "text_special", "code_inline", "strong_open", "strong_close", "em_open", "em_close", "softbreak"}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "`" * 7 + "\n<b>",
    "```\n~~~\n````\n<!-- ",
    "a | b | c\n| --- |",
    "\n\n# head\n\n- list\n\n> quote\n\n---\n",
    "![x](http://example.org/x.png) [y](http://x) ](http://x)",
    "\x00 \x1b[31m \r\n \u2028 \u202e",
    "\ud800 \udfff",
    "{{ 7 * 7 }} {% raw %} ${x}",
    "@someone #1 www.example.org",
    "⟦⟧⏎⟨U+0000⟩",
    "    indented\n\tcode",
    "中文，全角。“引号”",
]


def outside_fences(text: str) -> str:
    """The page without its fences, each checked to be closed by a line of its own."""
    lines, kept, fence = text.split("\n"), [], ""
    for line in lines:
        if fence:
            fence = "" if line == fence else fence
        elif found := re.fullmatch(r"(`{3,}|~{3,})text", line):
            fence = found[1]
        else:
            kept.append(line)
    assert fence == "", "a fence is not closed"
    return "\n".join(kept)


def structure(text: str) -> list[str]:
    return [token.type for token in GITHUB.parse(text)]


def inline_tokens(text: str) -> list[Token]:
    return [child for token in GITHUB.parse(text) for child in token.children or []]


PLAIN = structure(page(material("some words")))


def check_inert(text: str) -> str:
    made = page(material(text))
    assert "<" not in outside_fences(made)
    assert {token.type for token in inline_tokens(made)} <= INLINE
    assert len(made.encode()) <= MAX_BYTES
    return made


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_changes_nothing_but_the_text(text: str) -> None:
    assert structure(check_inert(text)) == PLAIN


@settings(max_examples=30, deadline=None)
@given(st.text(alphabet="`~\n<>|[]()!#-+*_=\\& a1中\x00\ud800", min_size=1, max_size=40).filter(str.strip))
def test_any_text_changes_nothing_but_the_text(text: str) -> None:
    assert structure(check_inert(text)) == PLAIN


@pytest.mark.parametrize("unit", ["x", "<", "`", "中", "\x00", "|\n", "\ud800"])
def test_huge_answers_leave_the_page_small(unit: str) -> None:
    made = check_inert(unit * (100_000 // len(unit)))
    assert "Cut: characters 1 to " in made


def test_a_hostile_label_is_only_a_label() -> None:
    made = page(material(label="<b>|`x`|</b>"))
    assert "<" not in outside_fences(made)
    assert "#### tc\\-000" not in made and "#### tc-000: &lt;b&gt;\\|\\`x\\`\\|&lt;/b&gt;, **must pass**" in made


def test_the_sections_come_in_order() -> None:
    assert re.findall(r"^#{1,2} (.*)$", outside_fences(page(material())), re.MULTILINE) == [
        "Quantization report: demo",
        "Verdict per scene",
        "Gates in numbers",
        "Fleet",
        "Class transitions",
        "Loss cards",
        "Accuracy by category",
        "Format fragility",
        "Noise floor",
        "Completion length",
        "Execution classes",
        "Provenance",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "| scene | serves | why | required |",
        "| tools | **fp8** | fp8 plain | none |",
        "| tools | awq-int4 | FAIL | awq-int4 on tools&#58; FAIL, plain |",
        "| tools | fp8 | noninferiority tools strict | PASS | 48 | 5 | 2 | 6.25 | -14.62 | 2.03 | 16.00 | 6 | 15 |",
        "- tools, must\\_pass: must-pass items&#58; plain",
        "| ok | float\\_drift | 1 | loss |",
        "| ok | ok | 2 | both right |",
        "| value\\_wrong | ok | 1 | gain |",
        "#### tc-000: value\\_wrong, **must pass**",
        "Right after lossless recovery: recovered plain.",
        'refund(amount=12900, note="plain")',
        "exact: 42 | plain",
        "问题 plain",
        "plain ⟦wrong in fp8⟧",
        "value_wrong at /0/arguments/amount: expected plain, got plain",
        "| baseline-again | tools | 6 | 0 | 0 | 0.0 % (0 of 6) | 100.0 % (6 of 6) |",
        "| fp8 | tools | 6 | 3 | 1 | 66.7 % (4 of 6) | 50.0 % (3 of 6) |",
        "| weight\\_bits | 16 | 4 | 8 | 16 | differs |",
        "| hardware | chip plain, 2 cores, 25.3 GB of memory, no accelerator |",
        "NAME=plain serve --model plain",
    ],
)
def test_what_stands_on_the_page(line: str) -> None:
    assert any(line in shown for shown in page(material()).split("\n"))


def test_a_stand_in_and_few_items_are_said_to_be() -> None:
    made = material()
    small = replace(made, profile=profile(suites={"qa": {"path": "q", "take": 6}, "tools": {"path": "t", "take": 6}}))
    shown = page(small)
    assert "**The model is a stand-in**" in shown
    assert "**The numbers of items are small**" in shown
    assert "tools: 6 items. One item is 16.67 pp" in shown
    model = made.profile.model.model_copy(update={"stand_in": False})
    real = page(replace(made, profile=made.profile.model_copy(update={"model": model})))
    assert "stand-in" not in real and "items are small" not in real


def test_what_is_broken_is_named() -> None:
    shown = page(with_decision(material(), decision(2, broken=tuple(f"problem {n}" for n in range(25)))))
    assert "### What could not be judged\n\n- problem 0\n" in shown
    assert "- and 5 more, in decision.json" in shown


def test_items_that_were_not_judged_are_named() -> None:
    made = material()
    compared = made.bundle.comparisons["fp8"]
    tools = compared.suites["tools"].model_copy(update={"unjudged": [f"tc-{n:03}" for n in range(25)]})
    changed = compared.model_copy(update={"suites": compared.suites | {"tools": tools}})
    bundle = replace(made.bundle, comparisons=made.bundle.comparisons | {"fp8": changed})
    [line] = [line for line in page(replace(made, bundle=bundle)).split("\n") if line.startswith("Not judged")]
    assert line.startswith("Not judged, and in no table: tc-000, tc-001,")
    assert line.endswith("tc-019 and 5 more.")


def test_what_the_baseline_loses_when_asked_again_is_named() -> None:
    made = material()
    bundle = replace(made.bundle, comparisons=made.bundle.comparisons | {AGAIN: made.bundle.comparisons["fp8"]})
    shown = page(replace(made, bundle=bundle))
    assert "- Lost on tools: tc-000, tc-001, tc-002\n" in shown
    assert "- Lost on" not in page(made)


def test_the_parsers_disagreement_is_shown_both_ways() -> None:
    made = material()
    found = made.bundle.metrics["fp8"].suites["tools"]
    told = found.model_copy(update={"parser_disagreement": Disagreement(judged=6, parser_lost=2, parser_passed=1)})
    metrics = Metrics(suites=made.bundle.metrics["fp8"].suites | {"tools": told})
    shown = page(replace(made, bundle=replace(made.bundle, metrics=made.bundle.metrics | {"fp8": metrics})))
    gap = "50.0 % (3 of 6) | 33.3 % (2 of 6) | 16.7 % (1 of 6)"
    assert f"| fp8 | tools | {gap} | 33.3 % (2 of 6) | 16.7 % (1 of 6) |" in shown
    assert "| fp8 | qa | 50.0 % (3 of 6) | 33.3 % (2 of 6) | 16.7 % (1 of 6) | no parser | no parser |" in shown


def test_shared_settings_that_differ_are_named() -> None:
    assert "Every shared setting" in page(material())
    shown = page(material("max_num_seqs"))
    assert "Every shared setting" not in shown
    assert "- fp8: max\\_num\\_seqs\n" in shown
