"""What the client does faster than the plain way comes to the same."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import digest
from evalsets.responses import Response
from pipelines.engine.drive import ids_digest, read
from pipelines.engine.journal import Journal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(st.integers(0, 2**32)))
def test_ids_have_the_digest_of_records(ids: list[int]) -> None:
    assert ids_digest(ids) == digest(ids)


@given(JSON, st.booleans())
def test_a_reply_reads_as_the_standard_library_reads_it(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    payload = text.encode("utf-8", "surrogatepass")
    assert read(payload) == json.loads(text)


def test_what_only_the_standard_library_reads_is_read() -> None:
    assert math.isnan(read(b"[NaN]")[0])
    assert read(b'"\\ud800"') == "\ud800"
    with pytest.raises(ValueError, match="Expecting"):
        read(b"<html>")


def test_syncs_come_one_in_a_while_and_before_rows_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, synced = [100.0], list[float]()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(now[0]))
    journal = Journal(tmp_path, "qa")
    for number in range(10):
        now[0] = 100 + number / 10
        journal.add(Response(item_id=f"qa-{number}", suite="qa", status="ok"))
        assert len((tmp_path / "qa.jsonl").read_text().splitlines()) == number + 1
    assert synced == [100.0, 100.3, 100.6, 100.9]
    journal.rows(["qa-9"])
    assert len(synced) == 5
