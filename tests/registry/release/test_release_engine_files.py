"""The engine's start files: a shell, xargs and YAML give back the words that were measured."""

from __future__ import annotations

import shlex
import subprocess

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import InputError
from registry.release.engine_files import numerics, vllm_args, vllm_env, vllm_yaml
from registry.release.flags import CONTROL
from registry.release.release import Served
from registry.release.release_of import release_of
from tests.registry.release.release_material import Material, execution

NASTY = [
    "a b",
    "it's",
    '"',
    "$(touch pwned)",
    "`x`",
    "\\",
    "a\\'b",
    "*",
    "~",
    "#",
    ";",
    "&",
    "{1..2}",
    "模型",
    "",
    "!",
    "%n",
]
WORDS = st.text(st.characters(codec="utf-8"), max_size=12).filter(lambda text: not CONTROL.search(text))


def served(flags: list[str], path: str = "runs/x") -> Served:
    material = Material()
    made = release_of("qa", material.promotion(), material.bundle()).served
    return made.model_copy(update={"flags": flags, "path": path})


def words(flags: list[str], path: str) -> list[str]:
    return ["--model", path, "--served-model-name", served([]).served_name, *flags]


@given(WORDS.filter(bool), st.lists(WORDS, max_size=4))
def test_quoted_words_come_back(path: str, values: list[str]) -> None:
    assert shlex.split(vllm_args(served(["--flag", *values], path))) == words(["--flag", *values], path)


@pytest.mark.parametrize("command", [["sh", "-c", "eval \"printf '%s\\n' $(cat)\""], ["xargs", "printf", "%s\\n"]])
def test_a_shell_and_xargs_read_the_same_words(command: list[str]) -> None:
    text = vllm_args(served(["--flag", *NASTY], "a path"))
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == words(["--flag", *NASTY], "a path")
    assert done.stderr == ""


@pytest.mark.parametrize("word", ["a\nb", "a\0b", "a\tb", "a\x85b", "a\u2028b"])
def test_a_word_that_no_file_carries_is_refused(word: str) -> None:
    for made in (served(["--flag", word]), served([], word)):
        for export in (vllm_args, vllm_yaml):
            with pytest.raises(InputError, match="control character"):
                export(made)


@pytest.mark.parametrize(
    ("flags", "values"),
    [
        (["--max-num-seqs", "64"], {"max-num-seqs": 64}),
        (["--gpu-memory-utilization", "0.92"], {"gpu-memory-utilization": "0.92"}),
        (["--seed", "-1"], {"seed": -1}),
        (["--code", "007"], {"code": "007"}),
        (["--enforce-eager"], {"enforce-eager": True}),
        (["--no-enable-prefix-caching"], {"no-enable-prefix-caching": True}),
        (["--word", "true"], {"word": "true"}),
        (["--origins", "a", "b"], {"origins": ["a", "b"]}),
        (["--config-x", '{"a": 1}'], {"config-x": '{"a": 1}'}),
    ],
)
def test_yaml_has_a_key_per_flag(flags: list[str], values: dict[str, object]) -> None:
    made = served(flags)
    first = {"model": "runs/x", "served-model-name": made.served_name}
    assert yaml.safe_load(vllm_yaml(made)) == first | values


def test_the_yaml_says_what_it_was_measured_on() -> None:
    made = served([])
    head = vllm_yaml(made).splitlines()[:2]
    assert head[0] == f"# awq-int4, weights {made.weights_digest}"
    assert head[1] == f"# measured on {numerics(made)}"
    assert numerics(made) == "NVIDIA A100-SXM4-80GB, 8.0, vllm 0.32.0, MarlinLinearKernel, W4A16, bfloat16"
    noted = execution("fp8").model_copy(update={"note": "w8a16-dequantized"})
    assert numerics(made.model_copy(update={"execution": noted})).endswith(", bfloat16, w8a16-dequantized")


def test_a_shell_reads_the_variables() -> None:
    text = vllm_env(served([]))
    assert text == "VLLM_NO_USAGE_STATS=1\nVLLM_USE_DEEP_GEMM=0\n"
    script = "set -a; . /dev/stdin; env"
    done = subprocess.run(["sh", "-c", script], input=text, capture_output=True, text=True, check=True, env={})
    assert {"VLLM_NO_USAGE_STATS=1", "VLLM_USE_DEEP_GEMM=0"} <= set(done.stdout.split("\n"))
