"""The generate stage: one row per item whatever happens, log-probabilities apart, and digests of what was written."""

from __future__ import annotations

import pytest

from evalsets.records import InputError, file_sha256, read_record, read_rows
from evalsets.responses import Logprobs, Response
from pipelines.generate import generate
from pipelines.layout import Layout
from registry.evidence import Attempt, EngineRecord
from tests.pipelines.engine.bench import QA, QA_IDS, TOOL_IDS, Bench
from tests.pipelines.engine.fake_engine import Script, Step

LAYOUT = Layout.of("bench")


def test_rows_are_whole_and_the_record_has_their_digests(bench: Bench) -> None:
    generate(bench.params(), "bf16")
    record = read_record(LAYOUT.engine("bf16"), EngineRecord)
    for suite, ids in (("qa", QA_IDS), ("tools", TOOL_IDS)):
        rows = read_rows(LAYOUT.responses("bf16", suite), Response)
        chosen = read_rows(LAYOUT.logprobs("bf16", suite), Logprobs)
        assert [row.item_id for row in rows] == [row.item_id for row in chosen] == ids
        assert all(row.logprobs is None for row in rows)
        assert [len(row.logprobs) for row in chosen] == [len(row.token_ids) for row in rows]
    assert record.responses == {suite: file_sha256(LAYOUT.responses("bf16", suite)) for suite in ("qa", "tools")}


def test_an_item_without_an_answer_is_counted_and_said(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.play(Script(steps={QA[2]: [Step(status=400)]}))
    generate(bench.params(), "bf16")
    said = capsys.readouterr().out
    assert "bf16 qa: 6 answers asked for, 1 not had; to ask them again: dvc repro --force" in said
    assert "bf16 tools: 3 answers asked for, 0 not had\n" in said
    assert len(read_rows(LAYOUT.responses("bf16", "qa"), Response)) == 6


def test_each_pass_has_its_rows_and_one_more_asks_only_what_is_new(bench: Bench) -> None:
    generate(bench.params(), "bf16")
    first = read_rows(LAYOUT.responses("bf16", "qa"), Response)
    asked = len(bench.asked())
    bench.runs = 2
    generate(bench.params(), "bf16")
    rows = read_rows(LAYOUT.responses("bf16", "qa"), Response)
    assert [row.answer_id for row in rows] == [*QA_IDS, *(f"{item_id}#2" for item_id in QA_IDS)]
    assert rows[: len(first)] == first
    assert len(bench.asked()) == 2 * asked


def test_each_set_of_answers_is_one_attempt(bench: Bench) -> None:
    generate(bench.params(), "bf16")
    generate(bench.params(), "bf16")
    generate(bench.params(), "baseline-again")
    [one, again] = read_rows(LAYOUT.attempts, Attempt)
    record = read_record(LAYOUT.engine("bf16"), EngineRecord)
    assert (one.run, one.responses, one.generation_key) == ("bf16", record.responses, record.generation_key)
    assert (again.run, again.variant) == ("baseline-again", "bf16")


def test_the_ledger_goes_on_from_the_published_one(bench: Bench) -> None:
    generate(bench.params(), "bf16")
    published = bench.folder / "evidence" / "bench" / "attempts.jsonl"
    published.parent.mkdir(parents=True)
    LAYOUT.attempts.rename(published)
    generate(bench.params(), "baseline-again")
    assert [attempt.run for attempt in read_rows(LAYOUT.attempts, Attempt)] == ["bf16", "baseline-again"]


def test_an_unknown_run_is_refused_with_the_ones_there_are(bench: Bench) -> None:
    with pytest.raises(InputError, match="--run int3: unknown; allowed: bf16, baseline-again"):
        generate(bench.params(), "int3")
