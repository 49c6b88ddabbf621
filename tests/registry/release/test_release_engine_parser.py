"""The exported engine files against the pinned engine: its own parser reads them, its source knows the metrics."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipelines.engine_modes import launched
from pipelines.profiles import load_profile
from registry.release.engine_files import vllm_args, vllm_yaml
from registry.release.engine_metrics import METRICS
from registry.release.release import Served
from registry.release.release_of import release_of
from tests.registry.release.golden_files import routes
from tests.registry.release.release_material import BITS, Material, engine_record, engine_settings

ROOT = Path(__file__).resolve().parents[3]
VENV = ROOT / ".venvs" / "vllm"
PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
pytestmark = pytest.mark.heavy
# Reads argument lists, one as JSON a line ("serve" first where the command is `vllm serve`), and answers what the
# parser made of each.
PARSE = """
import contextlib, io, json, sys
from vllm.entrypoints.cli.serve import cmd_init
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser

vllm = FlexibleArgumentParser(prog="vllm")
commands = vllm.add_subparsers(dest="subparser")
for command in cmd_init():
    command.subparser_init(commands)
for line in sys.stdin:
    words, said = json.loads(line), io.StringIO()
    parser = vllm if words[0] == "serve" else make_arg_parser(FlexibleArgumentParser())
    try:
        with contextlib.redirect_stderr(said):
            found = parser.parse_args(words)
            validate_parsed_serve_args(found)
    except SystemExit:
        print("RESULT", json.dumps({"error": said.getvalue()[-500:]}))
        continue
    values = {name: value for name, value in vars(found).items() if name not in ("subparser", "config")}
    # As `vllm serve` does: a positional model comes first.
    tag = values.pop("model_tag", None)
    print("RESULT", json.dumps(values | ({"model": tag} if tag else {}), default=str, sort_keys=True))
"""


def parsed(lists: list[list[str]]) -> list[dict[str, Any]]:
    """What the engine's parsers make of argument lists."""
    done = subprocess.run(
        [str(VENV / "bin" / "python"), "-c", PARSE],
        input="\n".join(map(json.dumps, lists)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    found = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert len(found) == len(lists), done.stderr[-2000:]
    return found


def variants() -> list[Served]:
    """What the golden releases serve, then a variant under each profile's engine."""
    found = [served for route in routes() for served in route.release.all_served]
    engines = [launched(load_profile(path).engine, "its parser") for path in PROFILES]
    engines.append(engine_settings(tool_parser=None, dialect="bare", flags=["--compilation-config", '{"mode": 0}']))
    for engine in engines:
        material = Material(engines={name: engine_record(name, engine) for name in BITS})
        found.append(release_of("qa", material.promotion(), material.bundle()).served)
    return found


def test_args_and_yaml_are_one_and_the_same_to_the_pinned_engine(tmp_path: Path) -> None:
    lists, exported = [], variants()
    for number, served in enumerate(exported):
        path = tmp_path / f"{number}.yaml"
        path.write_text(vllm_yaml(served), "utf-8")
        words = shlex.split(vllm_args(served))
        lists += [words, ["serve", *words], ["--config", str(path)], ["serve", "--config", str(path)]]
        lists.append(["serve", "/weights/here", "--config", str(path), "--port", "8001"])
    stray = exported[0].model_copy(update={"flags": [*exported[0].flags, "--no-such-switch"]})
    path = tmp_path / "stray.yaml"
    path.write_text(vllm_yaml(stray), "utf-8")
    *results, in_args, in_yaml = parsed([*lists, shlex.split(vllm_args(stray)), ["serve", "--config", str(path)]])
    for made in (in_args, in_yaml):
        assert "unrecognized arguments: --no-such-switch" in made["error"]
    for served, *five in zip(exported, *(results[offset::5] for offset in range(5)), strict=True):
        module, command, module_yaml, command_yaml, elsewhere = five
        assert module == command == module_yaml == command_yaml
        assert elsewhere == module | {"model": "/weights/here", "port": 8001}
        flags = served.flags
        assert module["model"] == served.path
        assert module["served_model_name"] == [served.served_name]
        assert module["dtype"] == served.execution.dtype == "bfloat16"
        for name in ("max-model-len", "max-num-seqs", "max-num-batched-tokens"):
            assert module[name.replace("-", "_")] == int(flags[flags.index(f"--{name}") + 1])
        assert module["enable_prefix_caching"] == ("--enable-prefix-caching" in flags)
        assert module["generation_config"] == "vllm"
        assert module["tool_call_parser"] == ("hermes" if "--tool-call-parser" in flags else None)


def test_every_metric_is_in_the_pinned_engines_source_and_of_its_kind() -> None:
    (source,) = VENV.glob("lib/python*/site-packages/vllm/v1/metrics/loggers.py")
    text = source.read_text("utf-8")
    known = {name: kind for kind, name in re.findall(r'_(counter|gauge|histogram)_cls\(\s*name="(vllm:\w+)"', text)}
    assert {name: known.get(name) for name in METRICS} == METRICS
    assert 'labelnames = ["model_name", "engine"]' in text
