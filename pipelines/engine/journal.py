"""The answers of a run as they come in: an append-only file per suite, kept under the run's key in `.work/`.

A process that is killed leaves whole lines and at most one torn one; the next process drops that and goes on with
the items that are missing. A power cut may take the last answers whole. Answers that failed for infrastructure's sake
are not kept. Both are asked again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from evalsets.items import Suite
from evalsets.records import InputError, read_rows, unique_by_id
from evalsets.responses import Response
from pipelines.engine.disk import writing

# A sync takes milliseconds in which the engine is not driven: at most a few percent of the time then.
SYNC_EVERY_S = 0.25


class Journal:
    """One suite's answers under one key. Only `status: ok` rows are stored."""

    def __init__(self, folder: Path, suite: Suite) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{suite}.jsonl"
        self._failed: dict[str, Response] = {}
        self._done = self._read()
        self._sync_at = 0.0

    def missing(self, answer_ids: Sequence[str]) -> set[str]:
        """The answers that are not there yet."""
        return set(answer_ids) - self._done.keys()

    def add(self, response: Response) -> None:
        """Keep an answer, or nothing of it. A second answer to an item is refused.

        It is in the file before this returns, so that a killed process loses nothing, and synced to the disk with
        the next answer that comes `SYNC_EVERY_S` after the last sync, or when rows are read.
        """
        if response.answer_id in self._done:
            raise InputError(
                f"{response.answer_id}: answered twice under one key; remove {self._path.parent} and run again"
            )
        if response.status == "infra":
            self._failed[response.answer_id] = response
            return
        line = response.model_dump_json().encode("utf-8", "surrogatepass") + b"\n"
        with writing(self._path):
            self._append(line)
            if time.monotonic() >= self._sync_at:
                self._sync()
        self._done[response.answer_id] = response

    def rows(self, answer_ids: Sequence[str]) -> list[Response]:
        """One row per answer, in the given order, failures included. Raises `InputError` naming ids without any row."""
        self._sync()
        found = self._failed | self._done
        lost = [answer for answer in answer_ids if answer not in found]
        if lost:
            raise InputError(f"{self._path}: {len(lost)} answers are missing: {', '.join(lost[:20])}; run again")
        return [found[answer] for answer in answer_ids]

    def has_answers(self) -> bool:
        """Whether any answer is kept, asked for now or not."""
        return bool(self._done)

    def _append(self, line: bytes) -> None:
        with self._path.open("ab", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            try:
                written = 0
                while written < len(line):
                    written += file.write(line[written:])
            except OSError:
                # A full disk takes a part of the line: no half answer may stay.
                file.truncate(before)
                raise

    def _sync(self) -> None:
        """Have the disk itself keep what is in the file."""
        if self._path.exists():
            with self._path.open("rb") as file:
                os.fsync(file.fileno())
        self._sync_at = time.monotonic() + SYNC_EVERY_S

    def _read(self) -> dict[str, Response]:
        if not self._path.exists():
            return {}
        data = self._path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with self._path.open("r+b") as file:
                file.truncate(whole)
        return unique_by_id(read_rows(self._path, Response), "answer_id", str(self._path))
