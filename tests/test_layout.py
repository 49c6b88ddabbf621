"""The house's rules that a machine can hold: packages, direction of imports, nothing shadowed from outside."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "evalsets": set[str](),
    "quantize": set[str](),
    "judges": {"evalsets"},
    "registry": {"judges", "evalsets", "quantize"},
    "pipelines": {"registry", "judges", "evalsets", "quantize"},
}
FORBIDDEN_NAMES = {"common", "utils", "core", "helpers", "misc"}
# Libraries that take seconds to import or live in one environment only, and the one file that may name each.
HEAVY = {
    "llmcompressor": "quantize/backends/llm_compressor.py",
    "mlflow": "registry/store/",
    "vllm": "pipelines/serving/load/bench_process.py",
    "awq": "quantize/backends/autoawq.py",
}


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Top-level names of everything a module imports, lazily or not."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_one_way(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    wrong = {
        str(path.relative_to(ROOT)): names
        for path in sources(package)
        if (names := (imported(path) & MAY_IMPORT.keys()) - allowed)
    }
    assert not wrong


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_the_package_is_this_repositorys_own(package: str) -> None:
    # PyPI has packages of these names; one of them installed over a folder would give no warning.
    found = importlib.import_module(package).__file__
    assert found is not None
    assert Path(found).resolve() == ROOT / package / "__init__.py"


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_init_modules_hold_a_docstring_only(package: str) -> None:
    for path in (ROOT / package).rglob("__init__.py"):
        body = ast.parse(path.read_text()).body
        assert len(body) == 1, path
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_no_catch_all_modules() -> None:
    assert not [path for package in MAY_IMPORT for path in sources(package) if path.stem in FORBIDDEN_NAMES]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_heavy_libraries_stay_in_their_file(package: str) -> None:
    for path in sources(package):
        name = path.relative_to(ROOT).as_posix()
        for library in imported(path) & HEAVY.keys():
            home = HEAVY[library]
            assert home is not None and name.startswith(home), f"{name} imports {library}"


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_modules_open_with_a_docstring(package: str) -> None:
    assert not [path for path in sources(package) if not ast.get_docstring(ast.parse(path.read_text()))]
