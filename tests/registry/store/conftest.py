"""A registry in a fresh sqlite database: created once a session, since the migrations are slow, and copied per test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from registry.store.mlflow_store import Store


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("database") / "mlflow.db"
    Store(f"sqlite:///{path}")
    return path


@pytest.fixture
def store(database: Path, tmp_path: Path) -> Store:
    path = tmp_path / "registry" / "mlflow.db"
    path.parent.mkdir()
    shutil.copy(database, path)
    return Store(f"sqlite:///{path}")
