"""What a load test measures: a variant on its engine, and the traffic that it gets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalsets.load import load_toolsets
from evalsets.records import digest
from pipelines.engine import record
from pipelines.engine.served import Served, served_folder
from pipelines.engine.settings import engine_environment, recorded_environment, served_name, shown_argv
from pipelines.engine_modes import LaunchEngine, launched
from pipelines.layout import WORK, Layout
from pipelines.serving.load.settings import LoadParams, LoadSettings
from pipelines.serving.load.trace import Trace, log_rows, make_trace
from pipelines.serving.prompt_tokens import PromptTokens
from quantize.manifest import Manifest, load_manifest


@dataclass(frozen=True)
class Subject:
    """What is measured: the profile's engine, what it serves under which name, the traffic, and requests per pass."""

    engine: LaunchEngine
    served: Served
    name: str
    trace: Trace
    requests: int

    @property
    def folder(self) -> Path:
        """Where results are kept: under a key of everything that shapes them."""
        argv = shown_argv(self.engine, self.served.folder, self.name)
        environment = recorded_environment(engine_environment(self.engine))
        version = "==".join(record.engine_version(self.engine.command[0]))
        key = digest([self.served.digest, argv, environment, version, self.trace.sha256, self.requests])
        return WORK / "load" / key


def subject_of(params: LoadParams, settings: LoadSettings, variant: str) -> tuple[Subject, Manifest]:
    """A variant of the profile with the traffic of its load test, and the manifest of its weights.

    Raises `InputError` where checkpoint or traffic are not to be had, or the engine is not this pipeline's to start.
    """
    layout, engine = Layout.of(params.profile), launched(params.engine, "a load test")
    manifest = load_manifest(layout.manifest(variant))
    served = served_folder(layout.checkpoint(variant), manifest, engine.device)
    toolsets = Path(params.toolsets)
    tokens = PromptTokens(served.folder, load_toolsets(toolsets))
    rows = log_rows(settings, params.suites, toolsets, tokens)
    trace = make_trace(rows, tokens, settings.requests * settings.repeats, engine.max_model_len)
    name = served_name(params.model.name, manifest.weights_digest)
    return Subject(engine, served, name, trace, settings.requests), manifest
