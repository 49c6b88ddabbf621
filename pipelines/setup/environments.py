"""Environments: one virtual environment per hash-pinned file of `envs/`, rebuilt only when that file changes.

`python3.11 -m pipelines.setup.environments control vllm` makes `.venvs/control` and `.venvs/vllm`. Packages are
installed exactly as listed, without dependency resolution. Standard library only.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pipelines.setup.preflight import TORCH, look, problems

ENVS = Path("envs")
VENVS = Path(".venvs")
STAMP = "built-from"


def stale(name: str) -> bool:
    """Whether the environment is missing, half built, or built from another file or Python."""
    stamp = VENVS / name / STAMP
    return not stamp.exists() or stamp.read_text() != fingerprint(name)


def fingerprint(name: str) -> str:
    """What an environment is built from: the SHA-256 of its file, and the Python version."""
    return f"{hashlib.sha256((ENVS / f'{name}.txt').read_bytes()).hexdigest()} {sys.version.split()[0]}\n"


def base_python() -> str:
    """The interpreter that this one's environment was made from: the running one may lie in a folder to be replaced."""
    name = Path(sys.executable).name if sys.prefix == sys.base_prefix else f"python3.{sys.version_info.minor}"
    return str(Path(sys.base_exec_prefix) / "bin" / name)


def build(name: str) -> None:
    """Build one environment anew. Its stamp is written last, so a broken build is never taken for a whole one."""
    folder = VENVS / name
    if folder.exists():
        shutil.rmtree(folder)
    subprocess.run([base_python(), "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    requirements = ENVS / f"{name}.txt"
    _install(name, python, requirements)
    # Byte code once and on all cores: engines start several interpreters, and some hosts forbid writing it later.
    print(f"{name}: compiling", flush=True)
    # (Some packages ship templates that are no Python; their errors are no news.)
    compile_all = [str(python), "-m", "compileall", "-q", "-j", "0", str(folder / "lib")]
    subprocess.run(compile_all, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (folder / STAMP).write_text(fingerprint(name))


def _install(name: str, python: Path, requirements: Path) -> None:
    total = sum("==" in line for line in requirements.read_text().splitlines())
    command = [str(python), "-m", "pip", "install", "--no-deps", "--require-hashes", "--no-compile"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "-r", str(requirements)]
    # Everything is pinned already; a constraint of the host could only contradict that.
    environment = os.environ | {"PIP_CONSTRAINT": os.devnull}
    said: list[str] = []
    print(f"{name}: {total} packages", flush=True)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        count = 0
        for line in process.stdout or ():
            said.append(line.rstrip())
            count += line.startswith("Collecting ")
            if sys.stdout.isatty():
                print(f"\r{name}: {count} of {total} packages", end="", flush=True)
    if sys.stdout.isatty():
        print()
    if process.returncode:
        tail = "\n".join(f"  | {line}" for line in said[-8:])
        raise SystemExit(f"error: {name}: pip could not install {requirements}:\n{tail}\nCorrect that and run again.")


def ensure(names: Sequence[str]) -> None:
    """Build what is stale, after a preflight. Raises `SystemExit` with what is missing and how to get it."""
    VENVS.mkdir(exist_ok=True)
    with (VENVS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = [name for name in names if stale(name)]
        if not wanted:
            return
        cpu_torch = any(f"torch=={TORCH}" in (ENVS / f"{name}.txt").read_text() for name in wanted)
        missing = problems(look(VENVS), wanted, cpu_torch)
        if missing:
            raise SystemExit("\n".join(f"error: {line}" for line in missing))
        for name in wanted:
            build(name)


def main() -> None:
    """Parse the command line and build."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.setup.environments", description=__doc__)
    parser.add_argument("names", nargs="+", help="environments, each with a file envs/NAME.txt")
    given = parser.parse_args()
    unknown = [name for name in given.names if not (ENVS / f"{name}.txt").exists()]
    if unknown:
        known = ", ".join(sorted(path.stem for path in ENVS.glob("*.txt")))
        raise SystemExit(f"error: no such environment: {', '.join(unknown)}; there are: {known}")
    ensure(given.names)


if __name__ == "__main__":
    main()
