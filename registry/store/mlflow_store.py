"""The MLflow server or database behind the registry: reads, single writes, and nothing decided here.

The only module that imports MLflow, and only once a store is opened: the import takes seconds. Works on a database
(`sqlite:///…`, `postgresql://…`) and through a server (`http://…`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from evalsets.records import InputError
from registry.store.calls import RegistryError, every, quoted, unless_there
from registry.store.describe import VERDICT
from registry.store.location import artifact_root, lock_path, masked, source_of, sqlite_file
from registry.store.runs import Runs

LOCK_TIMEOUT_S = 3600


@dataclass(frozen=True)
class StoredVersion:
    """A version as the registry holds it. `weights_digest` is empty where it was not made by this project."""

    number: int
    weights_digest: str
    tags: dict[str, str]
    description: str


class Store:
    """A tracking store and model registry; `runs` are its evaluation runs and its journal.

    Opening it creates an sqlite database, once, under a file lock. Every method raises `RegistryError` where MLflow
    refuses.
    """

    def __init__(self, tracking_uri: str) -> None:
        database = sqlite_file(tracking_uri)
        if database is not None:
            database.absolute().parent.mkdir(parents=True, exist_ok=True)
        self._uri = tracking_uri
        self._lock = FileLock(lock_path(tracking_uri, "lock"), timeout=0)
        # Processes that create one sqlite database at the same time corrupt it for good.
        with FileLock(lock_path(tracking_uri, "create-lock"), timeout=LOCK_TIMEOUT_S):
            self.client: Any = _Client(tracking_uri)
        self.runs = Runs(self.client, artifact_root(tracking_uri))

    @contextmanager
    def lock(self, say: Callable[[str], None]) -> Iterator[None]:
        """Keep other promoters of this host out; may be nested. `say` is told if another one is at work."""
        try:
            self._lock.acquire()
        except Timeout:
            say(f"another promotion is at work (lock {self._lock.lock_file}); waiting for it")
            try:
                self._lock.acquire(timeout=LOCK_TIMEOUT_S)
            except Timeout:
                path = self._lock.lock_file
                raise InputError(f"{path}: locked for {LOCK_TIMEOUT_S} s; end the other promotion first") from None
        try:
            yield
        finally:
            self._lock.release()

    def hardware(self, model: str) -> str | None:
        """The hardware whose evidence a registered model takes; None where there is no model or no tag."""
        found = self._model(model)
        return found.tags.get("hardware") if found else None

    def ensure_model(self, model: str, hardware: str) -> None:
        """Create the registered model with its `hardware` tag, or give one without the tag its tag."""
        found = self._model(model)
        if found is None:
            description = "One version per weights digest; aliases say which scene a version serves."
            unless_there(self.client.create_registered_model, model, {"hardware": hardware}, description)
        elif "hardware" not in found.tags:
            self.client.set_registered_model_tag(model, "hardware", hardware)

    def aliases(self, model: str) -> dict[str, StoredVersion]:
        """Every alias of a registered model with the version that holds it; empty where there is no model."""
        found = self._model(model)
        if found is None or not found.aliases:
            return {}
        versions = every(self.client.search_model_versions, f"name = {quoted(model)}")
        by_number = {version.number: version for version in map(_stored, versions)}
        return {alias: by_number[int(number)] for alias, number in found.aliases.items()}

    def holder(self, model: str, alias: str) -> StoredVersion | None:
        """The version an alias points at now, or None."""
        found = self._model(model)
        number = found.aliases.get(alias) if found else None
        return self._version(model, number) if number is not None else None

    def set_alias(self, model: str, alias: str, number: int) -> None:
        """Point an alias at a version."""
        self.client.set_registered_model_alias(model, alias, str(number))

    def find_version(self, model: str, weights_digest: str) -> StoredVersion | None:
        """The version of these weights, the oldest should there be two; None if there is none."""
        query = f"name = {quoted(model)} and tags.weights_digest = {quoted(weights_digest)}"
        found = [_stored(version) for version in every(self.client.search_model_versions, query)]
        return min(found, key=lambda version: version.number, default=None)

    def create_version(
        self, model: str, folder: Path, run_id: str, tags: dict[str, str], description: str
    ) -> StoredVersion:
        """Register a checkpoint by where it lies; nothing is copied. Tags and description come in the same write.

        A promoter on another host may have registered the same weights in between. Whoever has the higher number
        takes its own back, which nobody has used: everybody takes the lowest.
        """
        made = _stored(
            self.client.create_model_version(
                model, source_of(self._uri, folder), run_id, tags=tags, description=description, await_creation_for=0
            )
        )
        first = self.find_version(model, made.weights_digest)
        if first is None or first.number == made.number:
            return made
        self.client.delete_model_version(model, str(made.number))
        return first

    def describe_version(self, model: str, now: StoredVersion, tags: dict[str, str], description: str) -> None:
        """Bring a version's tags and description to these. Writes only what differs; drops verdicts of lost scenes."""
        for key, value in tags.items():
            if now.tags.get(key) != value:
                self.client.set_model_version_tag(model, str(now.number), key, value)
        for key in now.tags:
            if key.startswith(VERDICT) and key not in tags:
                self.client.delete_model_version_tag(model, str(now.number), key)
        if now.description != description:
            self.client.update_model_version(model, str(now.number), description)

    def _model(self, model: str) -> Any:
        try:
            return self.client.get_registered_model(model)
        except RegistryError as error:
            if error.code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise

    def _version(self, model: str, number: int | str) -> StoredVersion:
        return _stored(self.client.get_model_version(model, str(number)))


class _Client:
    """MLflow's client, with telemetry off and its errors as `RegistryError`."""

    def __init__(self, uri: str) -> None:
        # Set before the import, which reads them: no usage statistics, no links on standard output.
        os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        logging.getLogger("mlflow").setLevel(logging.WARNING)
        self._uri = uri
        self._errors = (MlflowException, SQLAlchemyError, OSError)
        self._inner: Any = self._told(MlflowClient)(uri, uri)

    def __getattr__(self, name: str) -> Any:
        return self._told(getattr(self._inner, name))

    def log_values(self, run_id: str, params: dict[str, str], metrics: dict[str, float], time_ms: int) -> None:
        """Log parameters and metrics of one moment in as few writes as MLflow allows."""
        from mlflow.entities import Metric, Param

        values = [Metric(key, value, time_ms, 0) for key, value in metrics.items()]
        self.log_batch(run_id, metrics=values, params=[Param(key, value) for key, value in params.items()])

    def _told(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def told(*args: Any, **named: Any) -> Any:
            try:
                return call(*args, **named)
            except self._errors as error:
                message = masked(" ".join(str(error).split()))[:500]
                code = getattr(error, "error_code", "")
                raise RegistryError(f"MLflow at {masked(self._uri)}: {message}", code) from error

        return told


def _stored(version: Any) -> StoredVersion:
    """One store numbers versions by int, the other by str."""
    tags = dict(version.tags)
    return StoredVersion(int(version.version), tags.get("weights_digest", ""), tags, version.description or "")
