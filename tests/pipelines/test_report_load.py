"""The section on load in both reports: what stands in it, what a hostile text does to it, and how large it gets."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.reporting.html.page import html_page
from pipelines.reporting.load_section import MAX_TUNED, load_section
from pipelines.reporting.load_tables import (
    CELL_HEAD,
    GROUP_HEAD,
    TUNING_HEAD,
    cell_row,
    group_rows,
    saturation_of,
    shown_cells,
    spread,
    tuning_of,
    tuning_row,
)
from pipelines.reporting.material import Material
from pipelines.reporting.page import MAX_BYTES, page
from registry.load_profile import Flags, Interval, LoadProfile, Saturation, TuningCell
from registry.store.load_numbers import cold_open
from tests.pipelines.report_html_reader import Element, read
from tests.pipelines.report_load import loads, with_load
from tests.pipelines.report_material import material
from tests.registry.load_records import MACHINE, cell, interval, load_profile, serving, tuning, unmeasured

WEIGHTS = "a" * 64
HOSTILE = ["</script><b>x", "a | b\n| --- |", "`x` [y](http://z) @someone", "\x00\ud800 中文，“引号”"]


def measured(**changes: Any) -> Material:
    made = material()
    return with_load(made, {**loads(made, **changes), "fp8": unmeasured("fp8", "left out by the profile")})


def html_section(made: Material) -> Element:
    return read(html_page(made)).one("section", id="load")


def with_text(made: Material, text: str) -> Material:
    """The text in every place of a load profile that takes free text."""
    machine = MACHINE.model_copy(update={"processor": text, "accelerator": text})
    over = cell(1.0, scenes=[text]).model_copy(update={"kept": False, "broke": [text]})
    tuned = tuning().model_copy(update={"left_out": {text: text}})
    found = loads(made, hardware=machine, cells=[over, cell(2.0, scenes=[text])], tuning=tuned, engine_version=text)
    priced = {name: load.model_copy(update={"price_per_hour": 1.0, "currency": text}) for name, load in found.items()}
    return with_load(made, {**priced, "fp8": unmeasured("fp8", text)})


SAID = [
    "## Load",
    "### Measured on test chip, 2 cores, 24\\.0 GB of memory, no accelerator",
    "| bf16 | 1/s | cold | 1.00 (0.95 to 1.05) | 50.0 (45.0 to 55.0) | P95 300 (270 to 330) | P95 40.0 (36.0 to 44.0)",
    "| bf16 | 4/s | cold | 4.00 (3.80 to 4.20) | 150 (135 to 165) | P95 9,000 (8,100 to 9,900) |",
    "| 25.0 % | 50.0 % | 0 | 4.00 (3.80 to 4.20) | broken&#58; TTFT p95 9000 ms, budget 1000 |",
    "| awq-int4 | 2/s | warm | 2.00 (1.90 to 2.10) | 160 (144 to 176) | P95 200 (180 to 220) |",
    "| 87.5 % | 50.0 % | 0 | 2.00 (1.90 to 2.10) | kept |",
    "- bf16 has a KV cache of 65,536 tokens and is saturated at 8 requests at a time&#58; 4\\.00",
    "- Budget&#58; TTFT 1000 ms and ITL 100 ms at the tail, failed requests up to 0 %, preemptions up to 0\\.",
    "3 requests did not fit the model length and were left out",
    "#### Flags tried with awq-int4, measured",
    "| 2048 batched tokens, 16 sequences, long prompts unbounded | 2/s | P95 500 (450 to 550) |",
    "| 2.50 (2.38 to 2.62) | kept | chosen |",
    "beat the default's goodput by 0\\.50 \\(0\\.25 to 0\\.75\\) requests/s\\. The flags are shown, not applied",
    "- fp8: no load profile. left out by the profile",
]


@pytest.mark.parametrize("said", SAID)
def test_what_stands_in_the_markdown(said: str) -> None:
    assert said in page(measured())


TOLD = [
    "Measured on test chip, 2 cores, 24.0 GB of memory, no accelerator",
    "Loads of awq-int4, measured on test chip, 2 cores",
    "16 at a time cold",
    "Tails by group at 2/s, bf16, measured on test chip",
    "tools 30 P95 507 (456 to 558)",
    "Flags tried with bf16, measured on test chip",
    "512 batched tokens, 8 sequences, long prompts 256 tokens a step 2.5/s",
    "Tail of the time to first token, measured on test chip",
    "Goodput of the flags tried with awq-int4, measured on test chip",
    "fp8 : no load profile. left out by the profile",
]


@pytest.mark.parametrize("told", [one.replace("fp8 :", "fp8:") for one in TOLD])
def test_what_stands_on_the_page(told: str) -> None:
    assert told in html_section(measured()).told


def test_the_section_comes_after_the_fleet_and_only_with_a_record() -> None:
    headings = re.findall(r"^## (.*)$", page(measured()), re.MULTILINE)
    assert headings[headings.index("Fleet") + 1] == "Load"
    shown = read(html_page(measured()))
    names = [heading.text for heading in shown.all("h2")]
    assert names[names.index("Fleet") + 1] == "Load"
    assert "load" in {link.attributes["href"][1:] for link in shown.one("nav").all("a")}
    without = read(html_page(material()))
    assert not without.all("section", id="load") and "\n## Load" not in page(material())
    assert "load" not in {link.attributes["href"][1:] for link in without.one("nav").all("a")}


def test_a_record_without_a_profile_says_why_and_nothing_else() -> None:
    assert load_section({"fp8": unmeasured("fp8")}) == (
        "## Load\n\n- fp8: no load profile. the profile measures no load of it"
    )
    made = with_load(material(), {"fp8": unmeasured("fp8")})
    assert html_section(made).told == "Load fp8: no load profile. the profile measures no load of it"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_changes_nothing_but_the_text(text: str) -> None:
    made = with_text(material(), text)
    section = page(made).partition("## Load")[2].partition("## Class")[0]
    assert "<" not in section and "\x00" not in section and "@someone" not in section
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in section.split("\n") if "/s | cold" in line}) == 1
    plain = with_text(material(), "words")
    assert html_section(made).tags == html_section(plain).tags


@settings(max_examples=20)
@given(st.text(alphabet="`~\n<>|[]()#!-*_\\& a1中\x00\ud800", min_size=1, max_size=40).filter(str.strip))
def test_any_text_leaves_the_markdown_as_it_is(text: str) -> None:
    made = with_text(MADE, text)
    told = load_section(made.bundle.serving)
    assert "<" not in told
    assert len(told.split("\n")) == len(load_section(PLAIN.bundle.serving).split("\n"))


MADE = material(count=1, losses=0)
PLAIN = with_text(MADE, "words")


def many(load: LoadProfile, text: str) -> LoadProfile:
    """A load profile as large as they come: 60 rates, 40 sets of flags, a long text for each."""
    found = [Flags(max_num_batched_tokens=2048 + n, max_num_seqs=16) for n in range(40)]
    tried = [TuningCell(flags=flags, cell=cell(2.0, 5000, goodput=interval(n))) for n, flags in enumerate(found)]
    tried = [one.model_copy(update={"cell": one.cell.model_copy(update={"broke": [text] * 20})}) for one in tried]
    tuned = tuning().model_copy(
        update={
            "tried": tried,
            "default": found[0],
            "chosen": found[7],
            "left_out": {str(n): text for n in range(200)},
        }
    )
    cells = [cell(rate, 5000).model_copy(update={"broke": [text] * 20}) for rate in range(1, 61)]
    return load.model_copy(update={"cells": cells, "tuning": tuned})


@pytest.mark.parametrize("unit", ["<", "中"])
def test_large_profiles_and_long_texts_leave_the_page_small(unit: str) -> None:
    made = material(count=60, losses=55)
    found = {name: many(load, unit * 500) for name, load in loads(made, {"bf16": 1, "awq-int4": 1, "fp8": 1}).items()}
    assert len(page(with_load(made, found)).encode()) <= MAX_BYTES
    told = load_section({"bf16": serving(found["bf16"])})
    assert told.count("| broken") == 3 + MAX_TUNED
    assert "More cells are in report\\.html&#58; 57 of bf16\\." in told
    assert f"{40 - MAX_TUNED} more sets of flags are in report.html." in told
    assert told.count("default |") == told.count("chosen |") == 1


RATES: list[tuple[list[tuple[float, bool]], list[float]]] = [
    ([(1, True), (2, True), (4, False)], [1, 2, 4]),
    ([(4, False), (1, True), (3, True), (2, True)], [1, 3, 4]),
    ([(1, True), (2, True), (3, True), (4, True), (5, True)], [1, 3, 5]),
    ([(1, False), (2, False), (3, False), (4, False)], [1, 3, 4]),
    ([(1, True), (2, False)], [1, 2]),
    ([(2, True)], [2]),
    ([], []),
]


@pytest.mark.parametrize(("rates", "shown"), RATES)
def test_the_lowest_the_telling_and_the_highest_rate_are_shown(
    rates: list[tuple[float, bool]], shown: list[float]
) -> None:
    cells = [cell(rate, 500 if keeps else 5000) for rate, keeps in rates]
    load = load_profile("bf16", WEIGHTS, cells=cells)
    assert [one.rate for one in shown_cells(load, cold_open(load))] == shown
    warm = load.model_copy(update={"cells": [*cells, cell(9.0, cache="warm"), cell(8.0, cache="warm")]})
    assert [one.rate for one in shown_cells(warm, cold_open(warm))] == [*shown, 9.0]


def test_rows_are_as_wide_as_their_heads() -> None:
    tuned = tuning()
    assert len(cell_row(cell(1.0))) == len(["load", *CELL_HEAD])
    assert [len(row) for row in group_rows(cell(1.0))] == [len(GROUP_HEAD)] * 5
    assert {len(tuning_row(one, tuned)) for one in tuned.tried} == {len(TUNING_HEAD)}


def test_a_cell_without_an_answer_has_no_tail() -> None:
    row = cell_row(cell(1.0).model_copy(update={"latency": {}, "kept": False, "broke": ["no request was answered"]}))
    assert row[4:6] == ["none", "none"] and row[-1] == "broken: no request was answered"


def test_saturation_at_the_highest_load_that_was_tried_is_said_to_be_open() -> None:
    load = load_profile("bf16", WEIGHTS)
    assert saturation_of(load).endswith("(tried 1, 8, 16).")
    cells = [cell(None, concurrency=count) for count in (1, 8)]
    last = load.model_copy(update={"saturation": Saturation(concurrency=8, cells=cells)})
    assert saturation_of(last).endswith("(tried 1, 8, the most tried, so there may be more to have).")
    assert ": " not in saturation_of(load.model_copy(update={"saturation": Saturation(concurrency=4, cells=cells)}))


def test_tuning_that_is_not_better_says_so() -> None:
    load = load_profile("bf16", WEIGHTS, tuning=tuning(better=False))
    told = tuning_of(load)
    assert told.startswith("bf16: no other flags are shown to beat the default's goodput, which stays")
    assert "gains 0.50 (-0.25 to 1.00) requests/s" in told and "not applied" not in told
    assert tuning_of(load.model_copy(update={"tuning": None})) == ""


def test_what_was_not_tried_is_named_up_to_a_few() -> None:
    few, many_ = ({f"{n}-8-0": f"why {n}" for n in range(count)} for count in (2, 9))
    load = load_profile("bf16", WEIGHTS, tuning=tuning().model_copy(update={"left_out": few}))
    assert tuning_of(load).endswith(" Not tried: 0-8-0, why 0; 1-8-0, why 1.")
    load = load_profile("bf16", WEIGHTS, tuning=tuning().model_copy(update={"left_out": many_}))
    assert tuning_of(load).endswith("; 3-8-0, why 3; and 5 more.")


SPREADS = [
    (Interval(estimate=1234.5, lower=1200, upper=1300), "1,234 (1,200 to 1,300)"),
    (Interval(estimate=12.34, lower=11, upper=13), "12.3 (11.0 to 13.0)"),
    (Interval(estimate=0.25, lower=-0.001, upper=0.5), "0.25 (0.00 to 0.50)"),
    (Interval(estimate=0.0125, lower=0.01, upper=0.02), "0.013 (0.010 to 0.020)"),
    (Interval(estimate=0, lower=0, upper=0), "0.000"),
]


@pytest.mark.parametrize(("value", "said"), SPREADS)
def test_an_interval_is_told_in_few_digits(value: Interval, said: str) -> None:
    assert spread(value) == said


def test_two_machines_have_two_parts() -> None:
    made = material()
    other = MACHINE.model_copy(update={"accelerator": "card"})
    found = {**loads(made, {"bf16": 1}), **loads(made, {"awq-int4": 1}, hardware=other)}
    both = with_load(made, found)
    assert page(both).count("### Measured on ") == 2
    assert len(html_section(both).all("h3")) == 2
    assert len(html_section(both).all("svg")) == 4
    untuned = replace(
        both.bundle, serving={name: serving(one.model_copy(update={"tuning": None})) for name, one in found.items()}
    )
    assert len(html_section(replace(both, bundle=untuned)).all("svg")) == 2
