"""The command lines of a run, and what the pinned engine's own parser says of them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipelines.engine.settings import engine_argv, engine_environment, masked, secrets, served_name
from pipelines.engine_modes import CommandEngine, Engine, LaunchEngine, LocalEngine, RemoteEngine
from pipelines.layout import Layout
from pipelines.planning.parser_process import ENGINE, RESULT
from pipelines.planning.records import FlagsCheck, LoadTest
from pipelines.profiles import Profile
from pipelines.serving.load.plan import flags_name, with_flags

MODULE = "pipelines.planning.parser_process"
SERVER = "vllm.entrypoints.openai.api_server"
PINNED = Path(".venvs/vllm/bin/python")
# What a container's server gets behind its name.
ARGUMENTS = ["--model", "{checkpoint}", "--served-model-name", "{served_name}", "--port", "{port}", "{flags}"]
WAIT_S = 300
NO_DIGEST = "0" * 12
PORT = 8000


def command_lines(profile: Profile, load: Sequence[LoadTest]) -> dict[str, list[str]]:
    """The arguments of every variant's engine, and of every set of flags that a load test tries, by a name.

    Empty for an endpoint that runs elsewhere.
    """
    engine, layout = profile.engine, Layout.of(profile.profile)
    if isinstance(engine, RemoteEngine):
        return {}
    name = served_name(profile.model.name, NO_DIGEST)
    found = {variant: _arguments(engine, layout.checkpoint(variant), name) for variant in profile.variants}
    if isinstance(engine, LaunchEngine):
        for test in load:
            for flags in test.flags:
                line = _arguments(with_flags(engine, flags), layout.checkpoint(test.variant), name)
                found[f"{test.variant} {flags_name(flags)}"] = line
    return found


def check_flags(engine: Engine, lines: Mapping[str, Sequence[str]]) -> FlagsCheck:
    """What the engine's parser says of the command lines; nothing is served, and nothing is raised.

    Not checked for an endpoint that runs elsewhere, a launch command that is not vLLM's server, or where neither the
    profile's interpreter nor the pinned CPU build is there.
    """
    if isinstance(engine, RemoteEngine):
        return _unchecked("the endpoint runs elsewhere")
    if isinstance(engine, LaunchEngine) and SERVER not in engine.command:
        return _unchecked(f"engine.command is not python -m {SERVER}")
    # A plan is made before the run's own engine is installed: the CPU build has the same parser.
    wanted = engine.command[0] if isinstance(engine, LaunchEngine) else str(PINNED)
    python = next(filter(shutil.which, (wanted, str(PINNED))), None)
    if python is None:
        return _unchecked(f"neither {wanted} nor {PINNED} is there; make setup builds it")
    return _asked(python, engine, lines)


def _asked(python: str, engine: LocalEngine, lines: Mapping[str, Sequence[str]]) -> FlagsCheck:
    environment = engine_environment(engine)
    given = "".join(json.dumps(line) + "\n" for line in lines.values())
    command, paths = [python, "-m", MODULE], {"PYTHONPATH": str(Path.cwd())}
    try:
        done = subprocess.run(
            command, input=given, env=environment | paths, capture_output=True, text=True, check=False, timeout=WAIT_S
        )
    except subprocess.TimeoutExpired:
        return _unchecked(f"{python} did not answer within {WAIT_S} s")
    said = done.stdout.splitlines()
    complaints = [json.loads(line.removeprefix(RESULT)) for line in said if line.startswith(RESULT)]
    if len(complaints) != len(lines):
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "nothing")
        return _unchecked(f"{python} cannot parse flags; it said: {last.strip()[:300]}")
    name = next((line.removeprefix(ENGINE) for line in said if line.startswith(ENGINE)), "")
    hidden = secrets([word for line in lines.values() for word in line], environment)
    problems = {line: masked(text, hidden) for line, text in zip(lines, complaints, strict=True) if text}
    return FlagsCheck(engine=name, checked=len(lines), problems=problems)


def _arguments(engine: LaunchEngine | CommandEngine, checkpoint: Path, name: str) -> list[str]:
    """What vLLM's server is given, whatever starts it."""
    if isinstance(engine, CommandEngine):
        return engine_argv(engine.model_copy(update={"command": ARGUMENTS}), checkpoint, name, PORT)
    return engine_argv(engine, checkpoint, name, PORT)[len(engine.command) :]


def _unchecked(why: str) -> FlagsCheck:
    return FlagsCheck(engine="", checked=0, problems={}, why=why)
