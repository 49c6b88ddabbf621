"""A guardian between this project and an engine: when either dies, nothing of the engine stays behind.

`python -m pipelines.engine.reaper PARENT ARGV…`, started by the process PARENT, runs ARGV as its child and ends with
its exit code. An engine starts processes of its own; when the engine's front process is killed they would live on and
hold cores, memory and port. The guardian adopts such orphans (child subreaper) and kills them, and it stops everything
when its own parent dies (parent-death signal), even by SIGKILL. Guardian and engine share a session of their own, so
that whoever finds the guardian killed can still end what it guarded (`end_session`). Linux only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from types import FrameType

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 10


def guard(parent: int, argv: list[str]) -> int:
    """Run `argv` until it ends or a signal asks to stop; its exit code. No descendant is left.

    `parent` is the process id of whoever started this one: asking for it here would be too late when it has died.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    try:
        if os.getppid() != parent:  # it died before the parent-death signal was set
            return 128 + signal.SIGTERM
        return subprocess.Popen(argv).wait()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_descendants()


def end_session(session: int, started: float) -> None:
    """Kill every process of a session whose leader, the guardian, is gone.

    `started` is when the leader started, in seconds since the epoch; an earlier session merely has the same number.
    """
    while alive := [process for process in psutil.process_iter() if _in_session(process, session, started)]:
        _kill(alive)


def _end_descendants() -> None:
    alive = psutil.Process().children(recursive=True)
    for process in alive:
        _signal(process, signal.SIGTERM)
    psutil.wait_procs(alive, timeout=GRACE_S)
    # What is left is killed, and so is what it starts meanwhile.
    while alive := psutil.Process().children(recursive=True):
        _kill(alive)


def _in_session(process: psutil.Process, session: int, started: float) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE or process.create_time() < started - 1:
            return False
        return os.getsid(process.pid) == session
    except (psutil.NoSuchProcess, ProcessLookupError):
        return False


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        _signal(process, signal.SIGKILL)
    psutil.wait_procs(processes, timeout=1)


def _signal(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


if __name__ == "__main__":
    sys.exit(guard(int(sys.argv[1]), sys.argv[2:]))
