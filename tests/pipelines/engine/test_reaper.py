"""The guardian: whoever is killed, and however, nothing of an engine stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.pipelines.engine.bench import ROOT

# An engine's front process with a child, and a grandchild in a session of its own that ignores SIGTERM.
GRANDCHILD = (
    "import signal, time; {ignore}; open('grandchild', 'w').write(str(__import__('os').getpid())); time.sleep(300)"
)
CHILD = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-S", "-c", {grandchild!r}], start_new_session=True)
while not os.path.exists("grandchild") or not open("grandchild").read():
    time.sleep(0.01)
open("child", "w").write(str(os.getpid()))
time.sleep(300)
"""
FRONT = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-S", "-c", {child!r}])
while not os.path.exists("child") or not open("child").read():
    time.sleep(0.01)
open("front", "w").write(str(os.getpid()))
time.sleep(300)
"""
# What a stage does: start the guardian, then be busy.
PARENT = """
import os, subprocess, sys, time
guardian = subprocess.Popen([sys.executable, *sys.argv[1:2], *sys.argv[2:3], str(os.getpid()), *sys.argv[3:]])
open("guardian", "w").write(str(guardian.pid))
time.sleep(300)
"""
QUICK = "import sys, pipelines.engine.reaper as r; r.GRACE_S = 0.2; sys.exit(r.guard(int(sys.argv[1]), sys.argv[2:]))"
NAMES = ("guardian", "front", "child", "grandchild")


def engine(stubborn: bool) -> list[str]:
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if stubborn else "pass"
    child = CHILD.format(grandchild=GRANDCHILD.format(ignore=ignore))
    return [sys.executable, "-S", "-c", FRONT.format(child=child)]


class Family:
    """A parent, its guardian and an engine of three processes, by name."""

    def __init__(self, folder: Path, stubborn: bool) -> None:
        environment = dict(os.environ, PYTHONPATH=str(ROOT))
        command = [sys.executable, "-S", "-c", PARENT, "-c", QUICK, *engine(stubborn)]
        self.parent = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL)
        self.members: dict[str, psutil.Process] = {}
        self._files = [folder / name for name in NAMES]

    def meet(self) -> None:
        """Wait until all of them run."""
        _wait(lambda: all(file.exists() and file.read_text() for file in self._files))
        self.members = {file.name: psutil.Process(int(file.read_text())) for file in self._files}

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to the parent or to a member."""
        os.kill(self.parent.pid if name == "parent" else self.members[name].pid, number)

    def left(self) -> list[str]:
        """Who still runs."""
        return [name for name, process in self.members.items() if _runs(process)]


@pytest.fixture
def families() -> Iterator[list[Family]]:
    made: list[Family] = []
    yield made
    for family in made:
        family.parent.kill()
        family.parent.wait()
        for process in family.members.values():
            if process.is_running():
                process.kill()


@pytest.mark.parametrize(
    ("victim", "number", "stubborn"),
    [
        ("parent", signal.SIGKILL, False),
        ("parent", signal.SIGKILL, True),
        ("front", signal.SIGKILL, False),
        ("front", signal.SIGTERM, True),
        ("guardian", signal.SIGTERM, True),
        ("guardian", signal.SIGINT, False),
    ],
)
def test_nothing_of_the_engine_is_left(
    tmp_path: Path, families: list[Family], victim: str, number: signal.Signals, stubborn: bool
) -> None:
    family = Family(tmp_path, stubborn)
    families.append(family)
    family.meet()
    assert family.left() == list(NAMES)
    family.kill(victim, number)
    _wait(lambda: not family.left(), family.left)


def test_a_parent_that_died_before_the_guardian_looked_is_noticed(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-S", "-c", "pass"])
    gone.wait()
    command = [sys.executable, "-m", "pipelines.engine.reaper", str(gone.pid), "touch", str(tmp_path / "started")]
    done = subprocess.run(command, cwd=ROOT, check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert not (tmp_path / "started").exists()


def test_the_exit_code_is_the_engine_s(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pipelines.engine.reaper", str(os.getpid()), "sh", "-c", "exit 7"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 7


def _runs(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def _wait(until: object, shown: object = None) -> None:
    assert callable(until)
    deadline = time.monotonic() + 15
    while not until():
        assert time.monotonic() < deadline, shown() if callable(shown) else "not in time"
        time.sleep(0.02)
