"""A registry in a real sqlite database: created once a session, since the migrations are slow, and emptied per test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

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
def empty(opened: tuple[Store, Path]) -> Callable[[], None]:
    """Empties the registry behind `store`."""
    folder = opened[1]
    return lambda: copy_database(folder / "empty.db", folder / "mlflow.db")


@pytest.fixture
def store(opened: tuple[Store, Path], empty: Callable[[], None]) -> Store:
    empty()
    unwatch(opened[0])
    return opened[0]


@pytest.fixture(scope="session")
def elsewhere(opened: tuple[Store, Path], tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same registry as `store`, from a host with its own lock."""
    other = Store(f"sqlite:///{opened[1] / 'mlflow.db'}")
    other._lock = FileLock(tmp_path_factory.mktemp("host") / "lock", timeout=0)
    return other


@pytest.fixture
def database(opened: tuple[Store, Path]) -> Path:
    """The file behind `store`."""
    return opened[1] / "mlflow.db"
