"""Foreign text in the report: it reads as written, and Markdown and HTML see nothing in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pipelines.reporting.text import (
    code,
    excerpt,
    fenced,
    inline,
    percent,
    said_cut,
    spelled,
    table,
    window,
)

GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
NASTY = st.text() | st.text(alphabet="`~\n\r\t <>|[]()!#-+*_=\\&\x00\u2028\u202e\ud800a中", max_size=60)


@given(NASTY)
def test_a_fence_holds_exactly_its_text_and_is_closed(text: str) -> None:
    shown = spelled(text)
    [fence, paragraph] = [
        token for token in GITHUB.parse(f"{fenced(shown)}\n\nafter") if token.type in {"fence", "inline"}
    ]
    assert fence.content == shown.removesuffix("\n") + "\n"
    assert paragraph.content == "after"


@given(NASTY, NASTY)
def test_spelling_is_one_to_one_and_can_be_written(one: str, other: str) -> None:
    assert (spelled(one) == spelled(other)) == (one == other)
    assert spelled(one).encode().decode() == spelled(one)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"amount": 12900}', '{"amount": 12900}'),
        ("订单，退款。", "订单，退款。"),
        ("a\nb", "a⏎\nb"),
        ("a\r\nb", "a⟨U+000D⟩⏎\nb"),
        ("nul \x00", "nul ⟨U+0000⟩"),
        ("lone \ud800", "lone ⟨U+D800⟩"),
        ("turn \u202e back", "turn ⟨U+202E⟩ back"),
        ("宽\u3000空格", "宽⟨U+3000⟩空格"),
        ("own ⟦⏎⟧ and ⟨U+0000⟩", "own ⟨U+27E6⟩⟨U+23CE⟩⟨U+27E7⟩ and ⟨U+27E8⟩U+0000⟨U+27E9⟩"),
    ],
)
def test_what_cannot_be_seen_is_spelled(text: str, shown: str) -> None:
    assert spelled(text) == shown


@pytest.mark.parametrize(
    ("text", "first_line"),
    [
        ("plain", "```text"),
        ("a ``` b", "~~~text"),
        ("``` and ~~~", "````text"),
        ("````` and ~~~", "~~~~text"),
    ],
)
def test_the_fence_is_longer_than_any_run_inside(text: str, first_line: str) -> None:
    lines = fenced(text).split("\n")
    assert (lines[0], lines[-1]) == (first_line, first_line.removesuffix("text"))


@given(NASTY, st.integers(0, 40))
def test_an_excerpt_stays_within_its_limit_and_says_what_it_cut(text: str, limit: int) -> None:
    end = window(text, 0, limit)
    assert len(spelled(text[:end])) <= limit
    assert end == len(text) or len(spelled(text[: end + 1])) > limit
    assert excerpt(text, limit).startswith("Cut: characters 1 to") == (end < len(text))


def test_a_cut_is_said_with_offsets() -> None:
    assert said_cut(0, 1500, 100_000) == "Cut: characters 1 to 1,500 of 100,000.\n\n"
    assert said_cut(0, 7, 7) == ""


def test_inline_text_is_cut_and_escaped() -> None:
    assert inline("<b>|x|</b>") == "&lt;b&gt;\\|x\\|&lt;/b&gt;"
    assert inline("x" * 301) == "x" * 300 + " … (1 more characters)"
    assert inline("](http://x)") == "\\]\\(http&#58;//x\\)"


def test_code_takes_digests_and_escapes_the_rest() -> None:
    assert code("engine/bf16.json") == "`engine/bf16.json`"
    assert code("`<i>`") == "\\`&lt;i&gt;\\`"


def test_tables_and_percentages() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert table(["a"], []) == "none"
    assert percent(3, 24) == "12.5 % (3 of 24)"
    assert percent(0, 0) == "none judged"
