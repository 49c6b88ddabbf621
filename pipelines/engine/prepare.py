"""What a run is before anything is started: its requests, the engine it wants, and the key of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalsets.records import digest
from pipelines.engine import record
from pipelines.engine.plan import Plan, generation_key, plan_run
from pipelines.engine.served import Served
from pipelines.engine.settings import engine_environment, recorded_environment, served_name, shown_argv
from pipelines.engine_modes import LaunchEngine, RemoteEngine
from pipelines.layout import WORK
from pipelines.params import Params
from quantize.manifest import Manifest


@dataclass(frozen=True)
class Session:
    """A planned run: what is asked of what, under which key.

    `argv` and `environment` are what may be written down; of a remote engine its address alone. `version` is None
    where only the running engine can say it.
    """

    params: Params
    run: str
    manifest: Manifest
    served: Served
    name: str
    plan: Plan
    argv: list[str]
    environment: dict[str, str]
    version: tuple[str, str] | None
    key: str

    @property
    def folder(self) -> Path:
        """Where this key's answers are kept between processes."""
        return WORK / "generate" / self.key

    @property
    def probes(self) -> Path:
        """Where the probes of the engine that answered are kept."""
        return self.folder / "probes.json"


def prepare(params: Params, run: str, manifest: Manifest, served: Served) -> Session:
    """Plan a run. Nothing is started."""
    engine = params.engine
    name = served_name(params.model.name, manifest.weights_digest)
    plan = plan_run(params, run, served.folder, name)
    environment: dict[str, str] = {}
    version: tuple[str, str] | None = None
    if isinstance(engine, RemoteEngine):
        argv = [engine.url]
        version = (engine.execution.engine, engine.execution.engine_version)
        keyed = [engine.mode, engine.url, digest(engine.execution), name]
    else:
        argv = keyed = shown_argv(engine, served.folder, name)
        environment = recorded_environment(engine_environment(engine))
        if isinstance(engine, LaunchEngine):
            version = record.engine_version(engine.command[0])
    key = generation_key(plan, run, served.digest, keyed, environment, "==".join(version or ()))
    return Session(params, run, manifest, served, name, plan, argv, environment, version, key)
