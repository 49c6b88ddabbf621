"""A PostgreSQL server of its own in a temporary folder, and what its tables held at chosen moments."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg2

BINARIES = Path("/usr/lib/postgresql")
USER = "postgres"
START_S = 60
DRIVER = "postgresql+psycopg2"  # what SQLAlchemy, and so MLflow, must be told: its default is another driver


def binary(name: str) -> Path:
    """A program of the newest installed PostgreSQL. Fails the test where there is none."""
    found = sorted(BINARIES.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    assert found, f"no PostgreSQL under {BINARIES}; install it: apt-get install postgresql"
    return found[-1]


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def running() -> Iterator[str]:
    """The URL of a fresh database server on a free loopback port; its folder goes when it has ended."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    account = _account(folder)
    password = secrets.token_hex(16)
    (folder / "password").write_text(password)
    made = [str(binary("initdb")), "-D", str(folder / "data"), "-U", USER, "-A", "scram-sha-256", "--no-sync"]
    made += ["--pwfile", str(folder / "password"), "--encoding", "UTF8", "--locale", "C.UTF-8"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL, cwd=folder, **account)
    port = free_port()
    command = [str(binary("postgres")), "-D", str(folder / "data"), "-h", "127.0.0.1", "-p", str(port), "-F"]
    url = f"postgresql://{USER}:{password}@127.0.0.1:{port}/postgres"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "-k", str(folder)], stdout=log, stderr=subprocess.STDOUT, cwd=folder, **account
        )
    try:
        _wait(process, url, folder / "log")
        yield url
    finally:
        process.send_signal(signal.SIGINT)  # ends sessions, then itself
        process.wait(START_S)
        shutil.rmtree(folder)


def backend_of(url: str) -> str:
    """The URL in the form that MLflow takes as its backend store."""
    return DRIVER + url.removeprefix("postgresql")


class Tables:
    """The tables of a database: kept as they are under a name, and brought back."""

    def __init__(self, url: str) -> None:
        self._url = url

    def keep(self, name: str) -> None:
        """Remember every row as `name`."""
        kept = [
            f'CREATE TABLE "{name}"."{table}" AS SELECT {columns} FROM public."{table}"'
            for table, columns in self._tables().items()
        ]
        self._do([f'DROP SCHEMA IF EXISTS "{name}" CASCADE', f'CREATE SCHEMA "{name}"', *kept])

    def bring_back(self, name: str) -> None:
        """Make every row what it was when `name` was kept."""
        tables = self._tables()
        every = ", ".join(f'public."{table}"' for table in tables)
        back = [
            f'INSERT INTO public."{table}" ({columns}) SELECT {columns} FROM "{name}"."{table}"'
            for table, columns in tables.items()
        ]
        # Foreign keys are not checked meanwhile: rows come table by table.
        self._do(["SET session_replication_role = replica", f"TRUNCATE {every} CASCADE", *back])

    def _tables(self) -> dict[str, str]:
        """Table -> its columns, less those that the database computes."""
        query = (
            "SELECT table_name, string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) "
            "FROM information_schema.columns WHERE table_schema = 'public' AND is_generated = 'NEVER' GROUP BY 1"
        )
        return dict(self._do([query]))

    def _do(self, statements: list[str]) -> list[Any]:
        with closing(psycopg2.connect(self._url)) as connection, connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []


def _account(folder: Path) -> dict[str, Any]:
    """PostgreSQL does not run as root: then it runs as its own user, who gets the folder."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam(USER)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + START_S
    while True:
        assert process.poll() is None, f"PostgreSQL ended: {log.read_text()[-2000:]}"
        try:
            psycopg2.connect(url).close()
            return
        except psycopg2.OperationalError:
            assert time.monotonic() < until, f"PostgreSQL does not answer: {log.read_text()[-2000:]}"
            time.sleep(0.1)
