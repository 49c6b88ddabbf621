"""Generated logs: seeded, by time, as skewed and as faulty as asked."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest

from evalsets.records import InputError
from pipelines.serving.canonical import canonical
from pipelines.serving.generate_log import Traffic
from pipelines.serving.generated_texts import SuiteTexts
from tests.pipelines.serving.serving_material import SUITES, generated


def test_a_log_is_seeded_by_time_and_marked() -> None:
    rows = generated(400)
    assert rows == generated(400) != generated(400, seed=2)
    assert [row.time for row in rows] == sorted(row.time for row in rows)
    assert all(row.generated for row in rows)


def test_rates_scenes_and_tenants_are_as_asked() -> None:
    rows = generated(4000, rate=2.0, tenants=20)
    lasted_s = (rows[-1].time - rows[0].time).total_seconds()
    assert len(rows) / lasted_s == pytest.approx(2.0, rel=0.08)
    scenes = Counter(row.scene for row in rows)
    for scene, share in Traffic().scenes.items():
        assert scenes[scene] / len(rows) == pytest.approx(share, abs=0.03)
    tenants = Counter(row.tenant for row in rows)
    # Zipf's law: the first tenant has about twice as many as the second, and 1.1 is a little steeper.
    assert 1.7 < tenants["t000"] / tenants["t001"] < 2.7
    assert tenants["t000"] > 5 * tenants["t009"]


def test_a_sessions_turns_hold_all_that_was_said() -> None:
    rows = generated(600)
    sessions = Counter(row.session for row in rows)
    longest = [row for row in rows if row.session == sessions.most_common(1)[0][0]]
    assert [row.turn for row in longest] == list(range(1, len(longest) + 1)) and len(longest) > 3
    for before, after in pairwise(longest):
        assert after.messages[: len(before.messages)] == before.messages
        answer = after.messages[len(before.messages)]
        assert answer.role == "assistant" and before.output_tokens == len(answer.content or "") + 1
        assert (before.tenant, before.scene, before.tools) == (after.tenant, after.scene, after.tools)


def test_prompts_are_canonical_unless_a_fault_is_asked_for() -> None:
    for row in generated(200):
        chat, tools = canonical(row.chat(), row.tools if isinstance(row.tools, list) else None)
        assert (chat, json.dumps(tools)) == (row.chat(), json.dumps(row.tools))
    for traffic in ({"stamp": "system"}, {"shuffle": frozenset({"tools"})}, {"shuffle": frozenset({"keys"})}):
        rows = generated(50, **traffic)
        assert any(
            (canonical(row.chat(), None)[0], json.dumps(canonical([], row.tools)[1]))
            != (row.chat(), json.dumps(row.tools))
            for row in rows
            if isinstance(row.tools, list)
        )


def test_a_stamp_in_the_user_turn_stays_where_it_was_said() -> None:
    rows = [row for row in generated(100, stamp="user") if row.turn == 2]
    users = [[message.content or "" for message in row.messages if message.role == "user"] for row in rows]
    assert users and all(sum("2026-03-05 " in text for text in texts) >= 2 for texts in users)
    assert not [row for row in rows if "2026-03-05 09" in (row.messages[0].content or "")]


@pytest.mark.parametrize(
    ("items", "scenes", "message"),
    [
        (SUITES, ["qa", "sales"], "scenes sales: no items are known for them; there are qa, tools, contract"),
        (SUITES[:3], ["tools"], r"no items of tools \(zh\)"),
    ],
)
def test_scenes_without_items_are_refused(items: list[object], scenes: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SuiteTexts([item for item in SUITES if item in items], scenes)
