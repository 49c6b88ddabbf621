"""A run's engine, ready to answer, whichever mode it has: started and stopped here, or found where it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from evalsets.records import InputError
from pipelines.engine import remote
from pipelines.engine.drive import Drive
from pipelines.engine.launch import died, free_port, running
from pipelines.engine.prepare import Session
from pipelines.engine.settings import engine_argv, engine_environment
from pipelines.engine_modes import RemoteEngine
from quantize.chat_template import ChatTemplate


@dataclass(frozen=True)
class Endpoint:
    """Where the engine answers, with what key, whether it lives, and the error for one that does not any more.

    `log` is None for an engine that runs elsewhere. No value of `hidden` may be written.
    """

    url: str
    alive: Callable[[], bool]
    gone: Callable[[str], InputError]
    start_s: float
    log: Path | None
    api_key: str | None = field(default=None, repr=False)
    hidden: frozenset[str] = field(default=frozenset(), repr=False)


@contextmanager
def reached(session: Session) -> Iterator[Endpoint]:
    """The engine of a session, ready. One that was started is stopped on the way out.

    Raises `InputError` where it does not start, is not healthy, or serves another name than the session's.
    """
    engine = session.params.engine
    if isinstance(engine, RemoteEngine):
        yield _remote(engine, session.name)
        return
    port = free_port()
    argv = engine_argv(engine, session.served.folder, session.name, port)
    environment = engine_environment(engine)
    log = session.folder / "engine.log"
    with running(argv, environment, port, log, engine.start_timeout_s) as server:
        gone = partial(died, server=server)
        yield Endpoint(server.url, server.alive, gone, server.start_s, log, server.api_key, server.hidden)


def drive_of(session: Session, endpoint: Endpoint) -> Drive:
    """How a session's requests are asked of its engine."""
    engine = session.params.engine
    return Drive(
        endpoint.url,
        engine.concurrency,
        engine.request_timeout_s,
        endpoint.alive,
        ChatTemplate(session.served.folder).decode,
        api_key=endpoint.api_key,
        hidden=endpoint.hidden,
        max_requests_per_s=engine.max_requests_per_s,
        stall_timeout_s=engine.stall_timeout_s or 2 * engine.request_timeout_s,
    )


def _remote(engine: RemoteEngine, name: str) -> Endpoint:
    key = remote.key_of(engine)
    waited_s = remote.await_healthy(engine, key)
    remote.check_served(engine, name, key)

    def gone(what: str) -> InputError:
        return InputError(
            f"{what}; no item was graded for it. What to do: bring {engine.url} back, see its own log, and run again"
        )

    return Endpoint(engine.url, lambda: True, gone, waited_s, None, key, remote.hidden_values(key))
