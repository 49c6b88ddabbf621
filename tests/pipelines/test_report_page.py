"""The page: what stands where, what a hostile text can do to it (nothing), and how large it gets."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipelines.reporting.loss_cards import MAX_CARDS, ordered, piles
from pipelines.reporting.page import MAX_BYTES, page
from registry.evidence import NewLoss
from tests.pipelines.report_material import answers, decision, material, profile, with_decision

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
FENCE = re.compile(r"^(`{3,}|~{3,})text\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)


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
        "Class transitions",
        "Loss cards",
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
        "| tools | awq-int4 | FAIL | awq-int4 on tools\\: FAIL, plain |",
        "| tools | fp8 | noninferiority tools strict | PASS | 48 | 5 | 2 | 6.25 | -14.62 | 2.03 | 16.00 | 6 | 15 |",
        "- tools, must_pass: must-pass items\\: plain",
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


def test_cards_are_ordered_by_must_pass_and_precedence() -> None:
    losses = [
        NewLoss(item_id="a", label="value_wrong", must_pass=False),
        NewLoss(item_id="b", label="from_another_judge", must_pass=False),
        NewLoss(item_id="c", label="no_call", must_pass=False),
        NewLoss(item_id="d", label="value_wrong", must_pass=True),
        NewLoss(item_id="e", label="float_drift", must_pass=False),
        NewLoss(item_id="f", label="no_call", must_pass=False),
    ]
    assert [loss.item_id for loss in ordered(losses)] == ["d", "c", "f", "e", "a", "b"]


def test_a_pile_has_twenty_cards_at_most_and_says_what_it_leaves_out() -> None:
    made = material(count=30, losses=25)
    assert [(len(pile.cards), pile.losses) for pile in piles(made)] == [(MAX_CARDS, 25)] * 4
    shown = page(made)
    assert shown.count("25 lost, 20 shown, 5 left out.") == 4
    assert shown.count("\n#### ") == 80


def test_cards_give_way_to_the_size_and_every_pile_keeps_its_best() -> None:
    run = material(count=30, losses=25)
    made = page(replace(run, responses=answers(run.items, "长文" * 300)))
    assert len(made.encode()) <= MAX_BYTES
    counts = [(int(shown), int(left)) for shown, left in re.findall(r"25 lost, (\d+) shown, (\d+) left out", made)]
    assert len(counts) == 4
    assert all(0 < shown < MAX_CARDS and shown + left == 25 for shown, left in counts)
    assert made.count("\n#### ") == sum(shown for shown, _ in counts)
    assert max(counts)[0] - min(counts)[0] <= 1
    assert made.count("**must pass**") == 2


def test_no_loss_is_said() -> None:
    assert page(material(losses=0)).count("No item was lost.") == 4
