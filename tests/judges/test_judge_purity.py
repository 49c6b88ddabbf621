"""The judge is a pure function of its input and knows no binary fractions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import judges

MODULES = sorted(Path(judges.__file__).parent.glob("*.py"))
COMMANDS = {"cases.py", "taxonomy.py"}  # read their arguments and write to stdout
RATES = {"metrics.py"}  # divides counts of verdicts, after everything is judged
IMPURE = {"os", "io", "time", "random", "logging", "socket", "subprocess", "urllib", "requests", "tempfile", "uuid"}


def names(tree: ast.AST) -> set[str]:
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_floats_and_no_world(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert "isclose" not in names(tree) and "math" not in imports(tree)
    if path.name not in RATES:
        assert "float" not in names(tree)
        constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        assert not any(isinstance(value, float) for value in constants)
        assert not any(isinstance(node, ast.Div) for node in ast.walk(tree))
    assert not imports(tree) & (IMPURE - ({"sys"} if path.name in COMMANDS else set()))
    if path.name not in COMMANDS:
        assert not imports(tree) & {"sys", "pathlib"}
        assert not names(tree) & {"open", "print", "input"}
