"""A full disk: said as such, nothing half-written, and the run goes on where it was. A limit on file size stands in."""

from __future__ import annotations

import errno
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalsets.records import InputError, read_rows
from evalsets.responses import Response
from pipelines.engine.disk import writing
from pipelines.engine.journal import Journal
from pipelines.generate import generate
from pipelines.layout import Layout
from tests.pipelines.engine.bench import QA, QA_IDS, TOOLS, Bench


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file grows beyond `size` bytes: what fits of a write is written, and the rest fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def response(item_id: str) -> Response:
    return Response(item_id=item_id, suite="qa", status="ok", raw="答" * 50)


def test_no_half_answer_stays_and_the_next_process_goes_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "qa")
    journal.add(response("qa-001"))
    whole = (tmp_path / "qa.jsonl").read_bytes()
    says = r"qa\.jsonl: cannot be written: .*; free space there and run again: whole answers are kept"
    with files_of_at_most(len(whole) + 100), pytest.raises(InputError, match=says):
        journal.add(response("qa-002"))
    assert (tmp_path / "qa.jsonl").read_bytes() == whole
    assert journal.missing(["qa-001", "qa-002"]) == {"qa-002"}
    journal.add(response("qa-002"))
    assert Journal(tmp_path, "qa").rows(["qa-001", "qa-002"]) == [response("qa-001"), response("qa-002")]


def test_a_run_that_fills_the_disk_is_resumed_without_loss(bench: Bench) -> None:
    bench.engine = {"concurrency": 1}
    with files_of_at_most(1800), pytest.raises(InputError, match=r"cannot be written: .*free space there"):
        generate(bench.params(), "bf16")
    assert not list(Path("runs/bench").rglob("*.jsonl"))
    assert not [path for path in Path().rglob(".*.json*") if path.is_file()]
    [journal] = Path(".work").rglob("qa.jsonl")
    kept = [row.item_id for row in read_rows(journal, Response)]
    before = bench.asked()
    assert 0 < len(kept) < len(before)
    generate(bench.params(), "bf16")
    rows = read_rows(Layout.of("bench").responses("bf16", "qa"), Response)
    assert [row.item_id for row in rows] == QA_IDS
    again = [text for text in before if QA_IDS[QA.index(text)] not in kept]
    assert Counter(bench.asked()) == Counter([*QA, *TOOLS, *again])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_a_full_quota_are_said(number: int) -> None:
    with pytest.raises(InputError, match=r"^runs/x: cannot be written: "), writing(Path("runs/x")):
        raise OSError(number, "full")


def test_other_faults_pass() -> None:
    with pytest.raises(PermissionError), writing(Path("runs/x")):
        raise PermissionError(errno.EACCES, "no")
