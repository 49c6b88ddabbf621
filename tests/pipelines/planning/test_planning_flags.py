"""The command lines of a run, and the engine's parser that they are handed to."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipelines.engine_modes import CommandEngine, Engine, RemoteEngine
from pipelines.planning import engine_flags
from pipelines.planning.assemble import make_plan
from pipelines.planning.engine_flags import SERVER, check_flags, command_lines
from pipelines.planning.material import Material
from pipelines.planning.parser_process import complaint
from pipelines.profiles import load_profile
from tests.pipelines.planning.planning_material import ROOT, a100, accepted, material, plan_of, with_profile

CONTAINER = ["docker", "run", "-v", "{checkpoint}:/m", "-p", "{port}:8000", "vllm:1", "{served_name}", "{flags}"]
ANSWER = """\
#!{python}
import json, sys
print("a line of the engine's own")
print("ENGINE vllm 1.0")
for line in sys.stdin:
    words = json.loads(line)
    print("RESULT " + json.dumps("unrecognized: " + words[-1] if "--gone" in words else ""))
"""
LINES = {"bf16": ["--model", "a"], "fp8": ["--model", "b", "--api-key", "hidden-key", "--gone", "hidden-key"]}


def engine(python: Path | str, words: list[str] | None = None) -> Engine:
    command = [str(python), *(["-m", SERVER] if words is None else words)]
    return a100().engine.model_copy(update={"command": command})


def remote() -> Material:
    shared = {"dtype", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "prefix_caching", "tool_parser"}
    shared |= {"dialect", "concurrency", "start_timeout_s", "request_timeout_s"}
    declared = {"device": "A100", "compute_capability": "8.0", "engine": "vllm", "engine_version": "1"}
    settings = a100().engine.model_dump(include=shared) | {"mode": "remote", "url": "http://127.0.0.1:1"}
    settings |= {"execution": declared | {"attention_backend": "FLASH_ATTN"}}
    elsewhere = replace(material(), setting=None)
    return with_profile(elsewhere, engine=RemoteEngine.model_validate(settings), load=None)


def script(folder: Path, text: str) -> Path:
    path = folder / "python"
    path.write_text(text.format(python=sys.executable))
    path.chmod(0o755)
    return path


def test_every_variant_and_every_set_of_flags_has_a_line() -> None:
    load = plan_of(material()).load
    lines = command_lines(a100(), load)
    assert list(lines)[:3] == ["bf16", "awq-int4", "fp8"]
    assert len(lines) == 3 + sum(len(test.flags) for test in load)
    tried = lines["awq-int4 2048-16-0"]
    assert tried[tried.index("--max-num-seqs") + 1] == "16"
    assert "--enable-prefix-caching" in tried and "--no-enable-prefix-caching" in lines["awq-int4"]
    assert all(line[0] == "--model" for line in lines.values())


def test_of_a_container_only_what_its_server_gets_is_checked() -> None:
    settings = a100().engine.model_dump() | {"mode": "command", "command": CONTAINER}
    profile = a100().model_copy(update={"engine": CommandEngine.model_validate(settings)})
    lines = command_lines(profile, [])
    assert not [word for word in lines["fp8"] if word in CONTAINER]
    launched = command_lines(a100(), [])["fp8"]
    assert lines["fp8"][lines["fp8"].index("--dtype") :] == launched[launched.index("--dtype") :]


def test_an_endpoint_elsewhere_has_no_flags_and_no_room_here() -> None:
    found = remote()
    plan = make_plan(found, check_flags)
    assert (command_lines(found.profile, []), plan.card, plan.load) == ({}, "an endpoint elsewhere", [])
    assert "engine flags were not checked: the endpoint runs elsewhere" in plan.warnings
    assert [line for line in plan.warnings if "nothing is promoted on it (policy.allow_declared)" in line]


def test_complaints_belong_to_their_lines_and_hold_no_secret(tmp_path: Path) -> None:
    found = check_flags(engine(script(tmp_path, ANSWER)), LINES)
    assert (found.engine, found.checked, found.why) == ("vllm 1.0", 2, "")
    assert found.problems == {"fp8": "unrecognized: ***"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("#!{python}\nimport sys\nsys.exit('no module named vllm')\n", "cannot parse flags; it said: no module named"),
        ("#!{python}\nprint('ENGINE vllm 1.0')\n", "cannot parse flags; it said: nothing"),
        ("#!{python}\nimport time\ntime.sleep(60)\n", "did not answer within 1 s"),
    ],
)
def test_an_engine_that_does_not_answer_is_not_checked(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_flags, "WAIT_S", 1 if "sleep" in text else 60)
    found = check_flags(engine(script(tmp_path, text)), LINES)
    assert (found.checked, found.problems) == (0, {})
    assert why in found.why


def test_what_is_no_vllm_is_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_flags, "PINNED", tmp_path / "gone too")
    why = check_flags(engine(tmp_path / "gone"), LINES).why
    assert f"neither {tmp_path / 'gone'} nor {tmp_path / 'gone too'} is there; make setup builds it" in why
    assert "is not python -m vllm" in check_flags(engine(sys.executable, ["serve.py"]), LINES).why


class Parser:
    """Stands in for the engine's parser."""

    def parse_args(self, words: list[str]) -> list[str]:
        if "--gone" in words:
            print("usage: many\nlines\nerror: unrecognized arguments: --gone", file=sys.stderr)
            raise SystemExit(2)
        if "--mute" in words:
            raise SystemExit(2)
        return words


def validate(words: list[str]) -> None:
    if "--clash" in words:
        raise TypeError("two flags\nclash")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--model", ""),
        ("--gone", "error: unrecognized arguments: --gone"),
        ("--mute", "refused without a word"),
        ("--clash", "TypeError: two flags clash"),
    ],
)
def test_the_last_line_of_the_parser_is_its_complaint(word: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {
        "vllm.entrypoints.launchers.cli_args": SimpleNamespace(
            make_arg_parser=lambda parser: parser, validate_parsed_serve_args=validate
        ),
        "vllm.utils.argparse_utils": SimpleNamespace(FlexibleArgumentParser=Parser),
    }
    monkeypatch.setattr(importlib, "import_module", modules.__getitem__)
    assert complaint([word]) == said


@pytest.mark.heavy
def test_the_pinned_engine_takes_every_profiles_flags_and_names_one_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    lines = {"unknown": [*command_lines(a100(), [])["bf16"], "--scheduler-policy", "fcfs"]}
    for path in sorted(Path("profiles").glob("*.yaml")):
        lines |= {f"{path.stem} {name}": line for name, line in command_lines(load_profile(path), []).items()}
    lines |= command_lines(a100(), make_plan(material(), accepted).load)
    found = check_flags(a100().engine, lines)
    assert (found.why, found.checked, list(found.problems)) == ("", len(lines), ["unknown"])
    assert "unrecognized arguments: --scheduler-policy" in found.problems["unknown"]
