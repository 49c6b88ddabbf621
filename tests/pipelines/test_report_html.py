"""The HTML report and hostile text: it stays text, and the page can neither ask for nor run anything else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from pipelines.reporting.html.page import MAX_BYTES, html_page
from pipelines.reporting.html.render import asset, line, render, script_json
from pipelines.reporting.text import spelled
from tests.pipelines.report_html_reader import Element, read
from tests.pipelines.report_material import material

HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style><!-- <![CDATA[ <?php",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload='alert(1)'> ' \" & &lt; &#60;",
    "</pre></article></main></body></html>",
    "\x00 \x1b[31m \r\n \u2028 \u2029 \u202e \ufffe",
    "\ud800 \udfff",
    "{{ 7 * 7 }} {% raw %} {# #} ${x}",
    "javascript:alert(1) https://example.org/x.png",
    "⟦⟧⏎⟨U+0000⟩",
    "中文，全角。“引号”",
]
# fmt: off
TAGS = {
    "html", "head", "meta", "link", "title", "style", "body", "a", "header", "main", "section", "article", "nav",
    "h1", "h2", "h3", "h4", "h5", "p", "strong", "em", "ul", "li", "div", "span", "code", "pre", "mark", "br",
    "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "figure", "figcaption",
    "form", "label", "select", "option", "input", "button", "output", "script",
    "svg", "desc", "rect", "line", "circle", "path", "text",
}
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "rel", "href", "class", "id", "hidden", "open", "type", "value",
    "aria-labelledby", "aria-label", "aria-live", "role", "tabindex", "scope", "autocomplete", "spellcheck",
    "viewbox", "width", "height", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "d", "transform",
    "text-anchor", "fill-opacity",
}
# fmt: on
# What a difference, a line break or a cut adds to a text; nothing else may depend on what the text is.
WITHIN_TEXT = {"span", "mark", "p"}


def structure(page: Element) -> Counter[str]:
    return Counter({tag: count for tag, count in page.tags.items() if tag not in WITHIN_TEXT})


PLAIN = structure(read(html_page(material("some words"))))


def check_inert(text: str) -> Element:
    made = html_page(material(text))
    assert len(made.encode()) <= MAX_BYTES
    page = read(made)
    for element in page.all():
        assert element.tag in TAGS
        assert element.attributes.keys() <= ATTRIBUTES
        assert element.attributes.get("href", "#").startswith(("#", "data:,"))
    assert [script.attributes.get("type", "") for script in page.all("script")] == ["application/json", ""]
    return page


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_changes_nothing_but_the_text(text: str) -> None:
    page = check_inert(text)
    assert structure(page) == PLAIN
    shown = [found.text for found in page.one("section", aria_labelledby="pile-3-head").all("pre")]
    assert spelled(f"{text} wrong in fp8") in shown
    assert spelled(f"{text} right") in shown


@settings(max_examples=25, deadline=None)
@given(st.text(alphabet="<>&\"'/!-[]=`{}%# a1中\x00\n\ud800\u2028", min_size=1, max_size=40).filter(str.strip))
def test_any_text_changes_nothing_but_the_text(text: str) -> None:
    assert structure(check_inert(text)) == PLAIN


def test_a_hostile_label_is_only_a_label() -> None:
    label = "</option><b onclick=x>'\"\ud800"
    page = read(html_page(material(label=label)))
    assert "b" not in page.tags
    assert line(label) in [option.text for option in page.all("option")]
    [first, *_] = json.loads(page.one("script", id="data").text)["cards"]
    assert first["label"] == line(label)


@given(
    st.recursive(st.none() | st.integers() | st.text(alphabet="<>&/!-a\u2028\u2029\n\ud800中"), st.lists, max_leaves=8)
)
def test_data_for_the_script_cannot_end_its_element(value: Any) -> None:
    text = script_json({"value": value})
    assert not set(text) & set("<>&\u2028\u2029\n")
    assert json.loads(text) == {"value": value}
    assert text.encode()


def test_the_page_carries_all_it_needs_and_may_ask_for_nothing() -> None:
    made = html_page(material())
    page = read(made)
    [policy] = [meta.attributes["content"] for meta in page.all("meta") if "http-equiv" in meta.attributes]
    digests = [
        base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        for element in (page.one("style"), page.all("script")[1])
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert "http:" not in made and "https:" not in made and "url(" not in made and "@import" not in made
    for name in ("report.css", "report.js"):
        assert not re.search(r"</(script|style)|<!--|innerHTML|eval\(|fetch\(", asset(name))


def test_a_template_without_a_value_fails() -> None:
    with pytest.raises(UndefinedError):
        render("card.html.j2", name="card-1")
