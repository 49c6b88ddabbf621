"""Every profile's command line against the pinned engine's own parser."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pipelines.engine.settings import engine_argv
from pipelines.engine_modes import launched
from pipelines.profiles import load_profile
from tests.pipelines.engine.bench import ROOT

VLLM = ROOT / ".venvs" / "vllm" / "bin" / "python"
PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
# Reads argument lists, one as JSON a line; for each answers with what the parser made of it, or with its complaint.
PARSE = """
import contextlib, io, json, sys
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser

for line in sys.stdin:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            found = make_arg_parser(FlexibleArgumentParser()).parse_args(json.loads(line))
            validate_parsed_serve_args(found)
    except SystemExit:
        print("RESULT", json.dumps({"error": said.getvalue()[-500:]}))
        continue
    names = ("model", "dtype", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "enable_prefix_caching")
    names += ("generation_config", "tool_call_parser", "enable_auto_tool_choice", "host", "port", "served_model_name")
    print("RESULT", json.dumps({name: getattr(found, name) for name in names}))
"""


@pytest.mark.heavy
def test_the_pinned_engine_knows_every_flag_of_every_profile() -> None:
    engines = [launched(load_profile(path).engine, "its parser") for path in PROFILES]
    lists = [engine_argv(engine, Path("runs/x"), "tiny@0123", 4321)[len(engine.command) :] for engine in engines]
    lists.append([*lists[0], "--scheduler-policy", "fcfs"])
    done = subprocess.run(
        [str(VLLM), "-c", PARSE],
        input="\n".join(map(json.dumps, lists)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    found = [
        json.loads(line.removeprefix("RESULT ")) for line in done.stdout.splitlines() if line.startswith("RESULT ")
    ]
    assert len(found) == len(lists), done.stderr[-2000:]
    *parsed, unknown = found
    assert "unrecognized arguments: --scheduler-policy" in unknown["error"]
    for path, engine, got in zip(PROFILES, engines, parsed, strict=True):
        assert got == {
            "model": "runs/x",
            "dtype": engine.dtype,
            "max_model_len": engine.max_model_len,
            "max_num_seqs": engine.max_num_seqs,
            "max_num_batched_tokens": engine.max_num_batched_tokens,
            "enable_prefix_caching": engine.prefix_caching,
            "generation_config": "vllm",
            "tool_call_parser": engine.tool_parser,
            "enable_auto_tool_choice": engine.tool_parser is not None,
            "host": "127.0.0.1",
            "port": 4321,
            "served_model_name": ["tiny@0123"],
        }, path
