"""The HTML report for every reader: headings, names, captions, and colours that stand out in light and dark."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from pipelines.reporting.html.page import html_page
from pipelines.reporting.html.render import asset
from tests.pipelines.report_html_reader import read, words
from tests.pipelines.report_material import material


def test_it_can_be_read_by_ear() -> None:
    page = read(html_page(material()))
    levels = [int(element.tag[1]) for element in page.all() if re.fullmatch(r"h[1-6]", element.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(table.all("caption") and table.all("th", scope="col") for table in page.all("table"))
    assert len(page.all("svg")) >= 10
    for drawing in page.all("svg"):
        assert drawing.attributes["role"] == "img"
        assert words(drawing.all("title")[0].text) and words(drawing.all("desc")[0].text)
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    named = {name for element in page.all() for name in element.attributes.get("aria-labelledby", "").split()}
    assert named <= set(ids)
    assert all(label.all("select") or label.all("input") for label in page.all("label"))


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_and_marks_stand_out(scheme: int) -> None:
    block = re.findall(r":root \{([^}]*)\}", asset("report.css"))[scheme]
    colours = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", block))
    # WCAG 2.2: 4.5 for text, 3 for what is drawn.
    for ground in ("--paper", "--panel"):
        for ink in ("--ink", "--muted", "--link", "--pass", "--fail", "--open"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for badge in ("--pass", "--fail", "--open"):
        assert contrast(colours["--on-badge"], colours[badge]) >= 4.5, badge
    assert contrast(colours["--mark-ink"], colours["--mark"]) >= 4.5
    for number in range(8):
        assert contrast(colours[f"--run-{number}"], colours["--paper"]) >= 3, number
