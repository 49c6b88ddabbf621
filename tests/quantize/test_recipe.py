"""Recipes: the shipped ones load, each mistake names file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from quantize.recipe import RecipeError, load_recipe

SHIPPED = sorted(Path("quantize/recipes").glob("*.yaml"))
AWQ = "backend: llmcompressor\nweight_bits: 4\nactivation_bits: 16\nscheme: W4A16_ASYM\n"
AUTOAWQ = AWQ.replace("llmcompressor", "autoawq") + "ignore: [lm_head]\n"
OWN = "autoawq: {group_size: 128, version: GEMM, duo_scaling: true, clip: true, max_tokens: 512}\n"
SEARCH = "awq: {n_grid: 8, duo_scaling: both, observer: memoryless_mse}\n"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_recipes_load_and_say_why(path: Path) -> None:
    recipe, digest = load_recipe(path)
    assert recipe.weight_bits in (4, 8, 16)
    assert len(digest) == 64
    assert path.read_text().startswith(f"# {path.stem}: ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (AWQ + SEARCH + "n_gird: 3\n", "n_gird"),
        (AWQ, "need an `awq` section"),
        (AWQ + "awq: {n_grid: 1, duo_scaling: both, observer: memoryless_mse}\n", "awq.n_grid"),
        (AWQ.replace("W4A16_ASYM", "W3") + SEARCH, "scheme"),
        (AWQ.replace("llmcompressor", "passthrough") + SEARCH, "goes with backend passthrough"),
        (AWQ.replace("llmcompressor", "autogptq") + SEARCH, "'passthrough', 'llmcompressor' or 'autoawq'"),
        (AUTOAWQ, "needs an `autoawq` section"),
        (AUTOAWQ + OWN + SEARCH, "takes no `awq` section"),
        (AUTOAWQ.replace("[lm_head]", "[]") + OWN, "ignore [lm_head], nothing else"),
        (AUTOAWQ.replace("_ASYM", "") + OWN, "scheme W4A16_ASYM"),
        (AUTOAWQ + OWN.replace("128", "64"), "autoawq.group_size"),
        (AUTOAWQ + OWN.replace("GEMM", "GEMV"), "autoawq.version"),
        (AWQ + SEARCH + OWN, "goes with backend autoawq"),
        ("- a\n- b\n", "valid dictionary"),
        ("a: [", "not YAML"),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError) as error:
        load_recipe(path)
    assert str(path) in str(error.value)
    assert says in str(error.value)


def test_a_missing_recipe_names_the_ones_there_are() -> None:
    with pytest.raises(RecipeError, match=r"awq-int4\.yaml.*fp8\.yaml"):
        load_recipe(Path("quantize/recipes/int3.yaml"))
