"""Every exported file, byte for byte, as it was read and kept in `golden/`."""

from __future__ import annotations

import pytest

from registry.release.files import NAMES
from tests.registry.release.golden_files import GOLDEN, SHARES, golden_texts

TEXTS = golden_texts()


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_the_file_is_the_golden_one(name: str) -> None:
    assert (GOLDEN / name).read_bytes() == TEXTS[name].encode()


def test_there_is_a_golden_file_for_each_and_no_other() -> None:
    found = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*") if path.is_file()}
    assert found == TEXTS.keys()


def test_every_name_that_a_scene_may_have_is_among_them() -> None:
    assert {name.partition("/")[2] for name in TEXTS if "/" in name} == NAMES


def test_a_second_making_is_the_same() -> None:
    assert golden_texts() == TEXTS
    assert {name.partition("/")[0] for name in TEXTS if "/" in name} == SHARES.keys()
