"""Writing where the disk may be full: said as such, with what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalsets.records import InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def writing(where: Path) -> Iterator[None]:
    """Turn a full disk into an `InputError` that names `where` and the next step; other faults pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise InputError(
            f"{where}: cannot be written: {error.strerror}; free space there and run again: "
            "whole answers are kept, nothing is asked twice"
        ) from None
