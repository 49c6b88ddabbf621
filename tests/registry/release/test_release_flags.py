"""Flags and variables from the recorded command line: kept, dropped, or refused."""

from __future__ import annotations

import pytest

from evalsets.records import InputError
from registry.release.flags import engine_environment, engine_flags, grouped
from tests.registry.release.release_material import engine_record, engine_settings


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["--dtype", "bfloat16"], [("--dtype", ["bfloat16"])]),
        (["--dtype=bfloat16"], [("--dtype", ["bfloat16"])]),
        (["--max_num_seqs", "8"], [("--max-num-seqs", ["8"])]),
        (["--enforce-eager"], [("--enforce-eager", [])]),
        (["--seed", "-1"], [("--seed", ["-1"])]),
        (["--allowed-origins", "a", "b"], [("--allowed-origins", ["a", "b"])]),
        (["--compilation-config", '{"a": "b=c"}'], [("--compilation-config", ['{"a": "b=c"}'])]),
        (["--compilation-config.pass_config.x", "1"], [("--compilation-config.pass_config.x", ["1"])]),
        (["--host", "127.0.0.1", "--port", "PORT", "--api-key", "***"], []),
        (["--served_model_name", "x", "--hf-token=***", "--dtype", "auto"], [("--dtype", ["auto"])]),
    ],
)
def test_words_belong_to_flags(words: list[str], kept: list[tuple[str, list[str]]]) -> None:
    assert grouped(words, "argv") == kept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-tp", "2"], "no flag in its long form"),
        (["-O3"], "no flag in its long form"),
        (["--Dtype", "x"], "no flag in its long form"),
        (["--"], "no flag in its long form"),
        (["stray"], "belongs to no flag"),
        (["--dtype", "a", "--dtype", "b"], "--dtype is given twice"),
        (["--max-num-seqs", "8", "--max_num_seqs", "9"], "--max-num-seqs is given twice"),
        (["--trust-remote-code"], "never released"),
        (["--middleware", "http://***@host"], "the value is masked"),
        (["--chat-template", "a\nb"], "control character"),
        (["--chat-template", "a\u2028b"], "control character"),
    ],
)
def test_what_cannot_be_released_is_named(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        grouped(words, "engine/x.json: argv")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("--dtype", "--seed", "--dtype is not stated, the record's setting is bfloat16"),
        ("64", "65", "--max-num-seqs is 65, the record's setting is 64"),
        ("--generation-config", "--tokenizer", "--generation-config is not stated, the record's setting is vllm"),
        ("hermes", "mistral", "--tool-call-parser is mistral"),
        ("--enable-prefix-caching", "--no-enable-prefix-caching", "--enable-prefix-caching is not stated"),
        ("--enforce-eager", "--no-enable-prefix-caching", "--enable-prefix-caching is not stated"),
        ("--served-model-name", "--model", "--model must stand in it once"),
    ],
)
def test_a_command_line_that_states_other_settings_is_refused(old: str, new: str, message: str) -> None:
    record = engine_record("fp8", engine_settings(flags=["--enforce-eager"]))
    assert engine_flags(record)[-1] == "--enforce-eager"
    argv = [new if word == old else word for word in record.argv]
    with pytest.raises(InputError, match=message):
        engine_flags(record.model_copy(update={"argv": argv}))


def test_without_a_tool_parser_none_is_asked_for() -> None:
    flags = engine_flags(engine_record("fp8", engine_settings(tool_parser=None, dialect="bare")))
    assert "--tool-call-parser" not in flags


@pytest.mark.parametrize(
    ("environment", "kept"),
    [
        ({"VLLM_CPU_INT4_W4A8": "0", "CUDA_VISIBLE_DEVICES": "0,1"}, {"VLLM_CPU_INT4_W4A8": "0"}),
        ({"OMP_NUM_THREADS": "2", "VLLM_CPU_OMP_THREADS_BIND": "0,1", "OPENBLAS_CORETYPE": "Haswell"}, {}),
        ({"VLLM_SERVER_DEV_MODE": "0"}, {"VLLM_SERVER_DEV_MODE": "0"}),
    ],
)
def test_the_variables_of_the_machine_stay_behind(environment: dict[str, str], kept: dict[str, str]) -> None:
    assert engine_environment(engine_record("fp8").model_copy(update={"environment": environment})) == kept


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"VLLM_SERVER_DEV_MODE": "1"}, "never release it"),
        ({"VLLM_PLUGINS": "https://***@host/x"}, "the value is masked"),
        ({"VLLM_X": "$(reboot)"}, "cannot stand in an environment file"),
        ({"VLLM_X": "a\nVLLM_Y=b"}, "cannot stand in an environment file"),
        ({"VLLM_X": "two words"}, "cannot stand in an environment file"),
        ({"BAD-NAME": "1"}, "cannot stand in an environment file"),
    ],
)
def test_a_variable_that_cannot_be_released_is_named(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        engine_environment(engine_record("fp8").model_copy(update={"environment": environment}))
