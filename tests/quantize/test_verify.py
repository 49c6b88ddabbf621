"""A checkpoint that is not what its recipe says is not published. On real FP8 and AutoAWQ ones of a tiny model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

PYTHON = Path(".venvs/llmcompressor/bin/python")
TINY = Path("tests/end_to_end/tiny_model.py")
CASES = Path("tests/quantize/verify_cases.py")
UP = "model.layers.0.mlp.up_proj"
SAYS = {
    "fp8": {
        "untouched": "",
        "drop_tensor": f"{UP}.weight is missing",
        "add_tensor": "stray is not expected",
        "wrong_type": f"{UP}.weight is BF16, not F8_E4M3",
        "broken_scale": "up_proj.weight_scale has a scale that is not a positive finite number",
        "other_config": "rope_theta is 1",
        "other_template": "other token ids",
    },
    "awq-int4-autoawq": {
        "untouched": "",
        "drop_zeros": f"{UP}.qzeros is missing",
        "keep_weight": f"{UP}.weight is not expected",
        "wrong_scales": f"{UP}.scales is BF16, not F16",
        "wrong_shape": f"{UP}.qweight has shape [64, 256], not [256, 64]",
        "zero_scale": f"{UP}.scales has a scale that is not a positive finite number",
        "endless_bias": "q_proj.bias has a value that is not finite",
        "other_layout": "quantization_config is",
    },
}
pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    work = tmp_path_factory.mktemp("verify")
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    subprocess.run([PYTHON, TINY, work / "base"], check=True, env=environment, capture_output=True)
    found = {}
    for recipe in SAYS:
        command = list(map(str, [PYTHON, CASES, f"quantize/recipes/{recipe}.yaml", work / "base", work / recipe]))
        done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        found[recipe] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(("recipe", "case"), [(recipe, case) for recipe, cases in SAYS.items() for case in cases])
def test_each_damage_is_named(said: dict[str, dict[str, str]], recipe: str, case: str) -> None:
    wanted, got = SAYS[recipe][case], said[recipe][case]
    assert wanted in got if wanted else got == ""
