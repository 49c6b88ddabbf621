"""Where things lie, by the tracking URI: database, locks, artifacts, and what a version calls its source."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import tempfile
from pathlib import Path

from evalsets.records import InputError

ARTIFACTS = "mlartifacts"


def sqlite_file(uri: str) -> Path | None:
    """The database file of an sqlite URI, None for any other. Raises `InputError` for a database in memory."""
    if not uri.startswith("sqlite:"):
        return None
    path = uri.partition("?")[0].removeprefix("sqlite:///")
    if path in ("", "sqlite:", "sqlite://", ":memory:"):
        raise InputError(f"{uri}: a registry outlives the process; name a file, such as sqlite:///mlflow.db")
    return Path(path)


def artifact_root(uri: str) -> Path | None:
    """The folder for artifacts beside an sqlite database; None where the server or MLflow's own default decides."""
    database = sqlite_file(uri)
    return database.absolute().parent / ARTIFACTS if database else None


def lock_path(uri: str, purpose: str) -> Path:
    """The lock file of a store on this host: beside an sqlite database, else one per user in the temporary folder."""
    database = sqlite_file(uri)
    if database is not None:
        return database.absolute().with_name(f"{database.name}-{purpose}")
    short = hashlib.sha256(uri.encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"registry-{os.getuid()}-{short}-{purpose}"


def source_of(uri: str, folder: Path) -> str:
    """What a version names as its source: the checkpoint's folder as a path where MLflow is opened directly.

    A server refuses paths of its clients. There the source is `checkpoint://<host><path>`: it says on which host
    the folder lies, and nothing is ever read through it.
    """
    path = folder.resolve().as_posix()
    return f"checkpoint://{socket.gethostname()}{path}" if uri.startswith(("http://", "https://")) else path


def masked(uri: str) -> str:
    """A tracking URI without its user and password, for messages."""
    return re.sub(r"//[^/@]*@", "//***@", uri)
