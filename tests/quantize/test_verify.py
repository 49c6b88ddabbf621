"""A checkpoint that is not what its recipe says is not published. On a real FP8 checkpoint of a tiny model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

PYTHON = Path(".venvs/llmcompressor/bin/python")
TINY = Path("tests/end_to_end/tiny_model.py")
CASES = Path("tests/quantize/verify_cases.py")
SAYS = {
    "untouched": "",
    "drop_tensor": "model.layers.0.mlp.up_proj.weight is missing",
    "add_tensor": "stray is not expected",
    "wrong_type": "model.layers.0.mlp.up_proj.weight is BF16, not F8_E4M3",
    "broken_scale": "up_proj.weight_scale has a scale that is not a positive finite number",
    "other_config": "rope_theta is 1",
    "other_template": "other token ids",
}
pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    work = tmp_path_factory.mktemp("verify")
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    subprocess.run([PYTHON, TINY, work / "base"], check=True, env=environment, capture_output=True)
    done = subprocess.run(
        [PYTHON, CASES, work / "base", work / "cases"], check=True, env=environment, capture_output=True, text=True
    )
    loaded: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return loaded


@pytest.mark.parametrize("case", SAYS)
def test_each_damage_is_named(said: dict[str, str], case: str) -> None:
    assert SAYS[case] in said[case] if SAYS[case] else said[case] == ""
