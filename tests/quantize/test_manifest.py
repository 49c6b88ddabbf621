"""Digests of a checkpoint: the OpenSSF construction, and no file left out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from quantize.manifest import MANIFEST, file_digests, load_manifest, weights_digest
from quantize.recipe import RecipeError


def test_the_weights_digest_is_the_digest_of_digests_in_name_order(tmp_path: Path) -> None:
    for name, text in (("b.bin", "two"), ("a.bin", "one"), ("sub/c.bin", "three")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / MANIFEST).write_text("left out")
    files = file_digests(tmp_path)
    assert list(files) == ["a.bin", "b.bin", "sub/c.bin"]
    raw = b"".join(hashlib.sha256(text.encode()).digest() for text in ("one", "two", "three"))
    assert weights_digest(files) == hashlib.sha256(raw).hexdigest()


def test_one_changed_byte_changes_it(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("one")
    before = weights_digest(file_digests(tmp_path))
    (tmp_path / "a.bin").write_text("onf")
    assert weights_digest(file_digests(tmp_path)) != before


def test_a_missing_or_broken_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no such manifest"):
        load_manifest(tmp_path / MANIFEST)
    (tmp_path / MANIFEST).write_text("{}")
    with pytest.raises(RecipeError, match="not a manifest"):
        load_manifest(tmp_path / MANIFEST)


def test_a_manifest_without_the_later_fields_loads(tmp_path: Path) -> None:
    fields = json.loads(Path("evidence/local/checkpoints/awq-int4/manifest.json").read_text("utf-8"))
    fields.pop("calibration_rows_cut", None)
    (tmp_path / MANIFEST).write_text(json.dumps(fields))
    assert load_manifest(tmp_path / MANIFEST).calibration_rows_cut == 0
