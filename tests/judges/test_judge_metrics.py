"""Counts and rates over verdicts."""

from __future__ import annotations

import pytest

from evalsets.items import Item, Message
from evalsets.records import InputError
from judges.metrics import summarise
from judges.verdicts import EngineVerdict, Verdict


def item(id_: str, tags: list[str]) -> Item:
    return Item(
        id=id_,
        domain="tools" if id_.startswith("t") else "service",
        cluster="c",
        split="release",
        lang="zh",
        tags=tags,
        messages=[Message(role="user", content="?")],
    )


ITEMS = {i.id: i for i in (item("t-1", ["refund"]), item("t-2", ["refund", "date"]), item("t-3", []), item("q-1", []))}


def verdict(id_: str, primary: str | None, tolerant: bool = False, engine: bool | None = None) -> Verdict:
    return Verdict(
        item_id=id_,
        suite="tools" if id_.startswith("t") else "qa",
        status="unjudged" if primary == "infra" else "judged",
        strict_ok=primary is None,
        tolerant_ok=tolerant or primary is None,
        primary=primary,
        completion_tokens=10,
        engine=EngineVerdict(status="not_applicable" if engine is None else "judged", ok=engine),
    )


def test_counts_rates_and_slices() -> None:
    verdicts = [
        verdict("t-1", None, engine=False),
        verdict("t-2", "json_syntax.trailing_comma", tolerant=True, engine=True),
        verdict("t-3", "float_drift", engine=False),
        verdict("q-1", "infra"),
    ]
    metrics = summarise(verdicts, ITEMS).suites
    tools = metrics["tools"]
    assert (tools.n, tools.judged, tools.strict_ok, tools.tolerant_ok) == (3, 3, 1, 2)
    assert tools.strict_rate == 1 / 3 and tools.tolerant_rate == 2 / 3
    assert tools.primary == {"json_syntax.trailing_comma": 1, "float_drift": 1}
    assert tools.families == {"numbers": 1, "identifiers": 0, "keys_and_enums": 0, "json_syntax": 1}
    disagreement = tools.parser_disagreement
    assert disagreement is not None
    assert (disagreement.judged, disagreement.parser_lost, disagreement.parser_passed) == (3, 1, 1)
    assert tools.mean_completion_tokens == 10
    assert tools.tags["refund"].n == 2 and tools.tags["date"].tolerant_ok == 1
    assert tools.domains["tools"].strict_ok == 1
    assert metrics["qa"].judged == 0 and metrics["qa"].strict_rate is None
    assert metrics["qa"].parser_disagreement is None


def test_labels_are_counted_in_the_order_of_precedence() -> None:
    verdicts = [verdict("t-1", "value_wrong"), verdict("t-2", "no_call"), verdict("t-3", "key_case")]
    assert list(summarise(verdicts, ITEMS).suites["tools"].primary) == ["no_call", "key_case", "value_wrong"]


def test_a_suite_without_verdicts_is_left_out() -> None:
    assert list(summarise([verdict("q-1", None)], ITEMS).suites) == ["qa"]


def test_a_verdict_on_an_unknown_item_is_refused() -> None:
    with pytest.raises(InputError, match="t-9"):
        summarise([verdict("t-9", None)], ITEMS)
