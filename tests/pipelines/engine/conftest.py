"""Fixtures of the engine's tests: a tiny checkpoint, and a project that runs on the fake engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.engine.bench import ROOT, Bench
from tests.pipelines.engine.tiny_checkpoint import make_checkpoint


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    make_checkpoint(folder)
    return folder


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path / 'site'}")
    return Bench(tmp_path)
