"""The journal: what a killed process leaves is enough to go on, and never more than was answered."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsets.records import InputError
from evalsets.responses import Response
from pipelines.engine.journal import Journal

IDS = ["qa-001", "qa-002", "qa-003"]


def response(item_id: str, raw: str = "答 <|im_end|>\n\u2028") -> Response:
    return Response(item_id=item_id, suite="qa", status="ok", raw=raw)


def infra(item_id: str) -> Response:
    return Response(item_id=item_id, suite="qa", status="infra", error="HTTP 500")


def filled(folder: Path, raws: list[str]) -> tuple[Journal, list[Response]]:
    journal = Journal(folder, "qa")
    rows = [response(item_id, raw) for item_id, raw in zip(IDS, raws, strict=True)]
    for row in rows:
        journal.add(row)
    return journal, rows


@settings(max_examples=30)
@given(raws=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=3, max_size=3), data=st.data())
def test_a_journal_cut_anywhere_keeps_its_whole_lines(raws: list[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "qa.jsonl"
        rows = [response(item_id, raw) for item_id, raw in zip(IDS, raws, strict=True)]
        written = "".join(row.model_dump_json() + "\n" for row in rows).encode()
        cut = data.draw(st.integers(0, len(written)))
        path.write_bytes(written[:cut])
        whole = written[:cut].count(b"\n")
        again = Journal(Path(name), "qa")
        assert again.missing(IDS) == set(IDS[whole:])
        assert again.rows(IDS[:whole]) == rows[:whole]
        for row in rows[whole:]:
            again.add(row)
        assert path.read_bytes() == written


def test_an_answer_is_on_disk_before_add_returns(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "qa")
    journal.add(response("qa-001"))
    assert Journal(tmp_path, "qa").rows(["qa-001"]) == [response("qa-001")]


def test_failures_are_reported_and_asked_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "qa")
    journal.add(infra("qa-001"))
    journal.add(response("qa-002"))
    assert journal.rows(IDS[:2]) == [infra("qa-001"), response("qa-002")]
    assert journal.missing(IDS[:2]) == {"qa-001"}
    again = Journal(tmp_path, "qa")
    assert again.missing(IDS[:2]) == {"qa-001"}
    again.add(infra("qa-001"))
    again.add(response("qa-001"))
    assert again.rows(IDS[:2]) == [response("qa-001"), response("qa-002")]


def test_rows_come_in_the_order_asked_for(tmp_path: Path) -> None:
    journal, rows = filled(tmp_path, ["a", "b", "c"])
    assert journal.rows(IDS[::-1]) == rows[::-1]


def test_a_second_answer_is_refused(tmp_path: Path) -> None:
    journal, _ = filled(tmp_path, ["a", "b", "c"])
    with pytest.raises(InputError, match=r"qa-002: answered twice under one key; remove .* and run again"):
        journal.add(response("qa-002"))


def test_ids_without_any_row_are_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "qa")
    journal.add(response("qa-002"))
    with pytest.raises(InputError, match=r"2 answers are missing: qa-001, qa-003"):
        journal.rows(IDS)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"item_id": "qa-00', r"qa\.jsonl:2: not JSON"),
        ('{"item_id": "x"}', r"qa\.jsonl:2: .*status"),
        ("", "not JSON"),
    ],
)
def test_a_broken_whole_line_is_named_not_skipped(tmp_path: Path, line: str, says: str) -> None:
    good = response("qa-001").model_dump_json()
    (tmp_path / "qa.jsonl").write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(InputError, match=says):
        Journal(tmp_path, "qa")


def test_an_id_twice_on_disk_is_refused(tmp_path: Path) -> None:
    (tmp_path / "qa.jsonl").write_text(f"{response('qa-001').model_dump_json()}\n" * 2)
    with pytest.raises(InputError, match="more than once: qa-001"):
        Journal(tmp_path, "qa")
