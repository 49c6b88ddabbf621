"""One process at a time: a file lock that says so when it has to wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def alone(lock: Path, work: str) -> Iterator[bool]:
    """Hold the lock file while inside; True where another process had it first. `work` names what is being done.

    The lock ends with the process, however it ends.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(lock)
    try:
        held.acquire(timeout=0)
        waited = False
    except Timeout:
        print(f"another process is {work}; waiting for it to end", flush=True)
        held.acquire()
        waited = True
    try:
        yield waited
    finally:
        held.release()
