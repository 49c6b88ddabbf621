"""A registry in a real sqlite database: created once a session, since the migrations are slow, and emptied per test."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry.store.mlflow_store import Store
from tests.registry.store.probe import copy_database, unwatch


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Path]:
    """A store, and the folder with its database and the empty one to begin from."""
    folder = tmp_path_factory.mktemp("registry")
    store = Store(f"sqlite:///{folder / 'mlflow.db'}")
    copy_database(folder / "mlflow.db", folder / "empty.db")
    return store, folder


@pytest.fixture
def store(opened: tuple[Store, Path]) -> Store:
    store, folder = opened
    copy_database(folder / "empty.db", folder / "mlflow.db")
    unwatch(store)
    return store


@pytest.fixture
def database(opened: tuple[Store, Path]) -> Path:
    """The file behind `store`."""
    return opened[1] / "mlflow.db"
