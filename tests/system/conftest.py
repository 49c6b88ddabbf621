"""The registry on a tracking server with PostgreSQL: started once a session, emptied per test.

The fixtures have the names of those of `tests/registry/store`, so that its tests run here on the server.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from registry.store.mlflow_store import Store
from tests.registry.store.probe import copy_database, unwatch
from tests.system import postgres, tracking
from tests.system.place import EMPTY, Place

# Ended by a signal, the tests still end the servers that they started.
signal.signal(signal.SIGTERM, signal.default_int_handler)
pytest.register_assert_rewrite(
    *(f"tests.registry.store.test_{name}" for name in ("crash", "promotion", "rollback", "two_hosts"))
)


@pytest.fixture(scope="session")
def on_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A tracking server on PostgreSQL that also serves the artifacts."""
    folder = tmp_path_factory.mktemp("tracking")
    artifacts = ["--artifacts-destination", str(folder / "artifacts")]
    with (
        postgres.running() as database,
        tracking.serving(postgres.backend_of(database), folder, artifacts) as uri,
    ):
        tables = postgres.Tables(database)
        tables.keep(EMPTY)
        yield Place(uri, tables.keep, tables.bring_back)


@pytest.fixture(scope="session")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """An sqlite database on this host."""
    folder = tmp_path_factory.mktemp("sqlite")
    database = folder / "mlflow.db"
    Store(f"sqlite:///{database}")
    place = Place(
        f"sqlite:///{database}",
        lambda name: copy_database(database, folder / f"{name}.db"),
        lambda name: copy_database(folder / f"{name}.db", database),
    )
    place.keep(EMPTY)
    return place


@pytest.fixture(params=["sqlite", "server"])
def place(request: pytest.FixtureRequest) -> Place:
    """Both of them, one after the other, emptied."""
    found: Place = request.getfixturevalue(f"on_{request.param}")
    found.bring_back(EMPTY)
    return found


@pytest.fixture(scope="session")
def opened(on_server: Place) -> Store:
    return Store(on_server.uri)


@pytest.fixture
def empty(on_server: Place) -> Callable[[], None]:
    return lambda: on_server.bring_back(EMPTY)


@pytest.fixture
def store(opened: Store, empty: Callable[[], None]) -> Store:
    empty()
    unwatch(opened)
    return opened


@pytest.fixture(scope="session")
def elsewhere(on_server: Place, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same registry from a host with its own lock."""
    other = Store(on_server.uri)
    other._lock = FileLock(tmp_path_factory.mktemp("host") / "lock", timeout=0)
    return other


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures of pages are kept, to be looked at."""
    folder = Path(__file__).parents[2] / ".work" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
