"""Text from a model reads as written wherever a browser shows it, and does nothing else."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pipelines.layout import Layout
from registry.store.describe import version_description, version_tags
from registry.store.load import load_bundle
from registry.store.markup import markdown, one_line, plain, row
from tests.registry.store.fake_run import FakeRun

EVIL = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://example.org/x.png)",
    "**bold** _it_ `code` ~~gone~~",
    "| a | b |\n|---|---|\n# head",
    "&lt;b&gt; &amp;",
    "a\\|b \\*c\\*",
    "@someone http://example.org www.example.org",
    "abc \u202e\u0000 def",
]
TAG = re.compile(r"<[^>]*>")


def rendered(text: str) -> str:
    """The HTML of a table with one cell, by a renderer with tables and strike-through on."""
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return str(renderer.render("\n".join([row(["x"]), row(["---"]), row([markdown(text)])])))


@given(st.text() | st.sampled_from(EVIL) | st.text(alphabet="\\`*_{}[]()#+!|~:.<>&@$^=- \n\t"))
def test_any_text_in_a_table_cell_reads_as_written(text: str) -> None:
    cell = re.search(r"<tbody>\n<tr>\n<td>(.*)</td>\n</tr>\n</tbody>\n</table>\n$", rendered(text), re.DOTALL)
    if one_line(text) == "":
        return
    assert cell is not None
    assert TAG.search(cell[1]) is None
    assert html.unescape(cell[1]) == one_line(text)


@given(st.text())
def test_plain_text_holds_no_mark_up_and_can_be_read_back(text: str) -> None:
    assert not set("<>") & set(plain(text))
    assert html.unescape(plain(text)) == one_line(text)


@pytest.mark.parametrize("evil", EVIL)
def test_tags_and_description_escape_what_a_model_wrote(tmp_path: Path, evil: str) -> None:
    run = FakeRun(
        Layout(tmp_path / "local"), {"qa": [("awq-int4", "FAIL"), ("fp8", "FAIL"), ("bf16", "PASS")]}, reason=evil
    )
    run.write()
    bundle = load_bundle(run.layout.root)
    for variant in run.variants:
        shown = MarkdownIt("commonmark", {"html": True}).enable("table").render(version_description(variant, bundle))
        tags = set(re.findall(r"<(\w+)", shown))
        assert tags <= {"p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td"}
        assert one_line(evil) in " ".join(html.unescape(shown).split())
        assert not any("<" in value for value in version_tags(variant, bundle).values())
