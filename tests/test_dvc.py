"""dvc.yaml lists what each stage imports: DVC cannot see it, so the import closure is computed here."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PACKAGES = ("evalsets", "judges", "quantize", "registry", "pipelines")
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]


def module_file(name: str) -> Path | None:
    """The file of a dotted module name inside this repository, or None."""
    path = ROOT.joinpath(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.exists():
            return candidate
    return None


def imports(path: Path) -> set[Path]:
    """The repository's files that a module imports, anywhere in it."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.split(".")[0] in PACKAGES and (file := module_file(name)):
                found.add(file)
    return found


def closure(module: str) -> set[Path]:
    """Every file of the repository that `python -m module` may import, itself included."""
    start = module_file(module)
    assert start is not None
    todo, seen = [start], set[Path]()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += imports(path)
    return {path for path in seen if path.name != "__init__.py"}


# Started as processes of their own, so no import shows them.
ENGINE = ["pipelines.engine.reaper", "quantize.dequantize"]
STARTED = {"generate": ENGINE, "load": [*ENGINE, "pipelines.serving.load.bench_process"]}


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_deps_cover_the_import_closure(stage: str) -> None:
    body = STAGES[stage].get("do", STAGES[stage])
    words = body["cmd"].split()
    wanted = closure(words[words.index("-m") + 1])
    for module in STARTED.get(stage, []):
        wanted |= closure(module)
    deps = [ROOT / dep for dep in body["deps"] if "$" not in dep]
    missing = [path.relative_to(ROOT) for path in wanted if not any(path == dep or dep in path.parents for dep in deps)]
    assert not missing, f"{stage}: add to deps: {', '.join(sorted(map(str, missing)))}"
    unknown = [dep for dep in deps if not dep.exists() and "runs" not in dep.parts]
    assert not unknown, f"{stage}: deps that do not exist: {unknown}"


@pytest.mark.parametrize(
    ("stage", "kept_out"),
    [
        ("fetch", ["registry", "judges"]),
        ("quantize", ["registry", "judges", "evalsets/load.py"]),
        ("generate", ["judges", "registry/gate", "registry/store"]),
    ],
)
def test_expensive_stages_depend_on_few_files(stage: str, kept_out: list[str]) -> None:
    deps = STAGES[stage].get("do", STAGES[stage])["deps"]
    assert not [dep for dep in deps for prefix in kept_out if dep == prefix or dep.startswith(f"{prefix}/")]


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """A repository with the pipeline and the profiles, and nothing else."""
    for name in ("dvc.yaml", "profiles", "quantize/recipes", ".dvc/config"):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", str(ROOT / name), str(target)], check=True)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def stages(pipeline: Path, profile: str) -> set[str]:
    """The names of the stages that DVC sees under a profile."""
    use = [sys.executable, "-m", "pipelines.profiles", "use", profile]
    subprocess.run(use, cwd=pipeline, check=True, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
    dvc = [sys.executable, "-m", "dvc", "stage", "list", "--name-only"]
    return set(subprocess.run(dvc, cwd=pipeline, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("profile", sorted((ROOT / "profiles").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_profile_gives_stages(pipeline: Path, profile: Path) -> None:
    listed = stages(pipeline, profile.stem)
    variants = yaml.safe_load(profile.read_text())["variants"]
    assert {f"quantize@{name}" for name in variants} <= listed
    assert {f"{stage}@{name}" for stage in ("generate", "judge") for name in [*variants, "baseline-again"]} <= listed
    assert {"fetch", "calibrate", "gate", "report", "promote", "release", "compare@baseline-again"} <= listed


def test_a_new_recipe_needs_its_file_and_the_profile(pipeline: Path) -> None:
    (pipeline / "quantize/recipes/awq-int4-wide.yaml").write_text("# a new recipe\n")
    profile = pipeline / "profiles/local.yaml"
    text = profile.read_text().replace(
        "  fp8: {recipe:", "  awq-int4-wide: {recipe: quantize/recipes/awq-int4-wide.yaml}\n  fp8: {recipe:"
    )
    profile.write_text(text)
    new = {f"{stage}@awq-int4-wide" for stage in ("quantize", "generate", "judge", "compare")}
    assert new <= stages(pipeline, "local")
