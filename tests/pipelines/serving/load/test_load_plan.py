"""Which passes a load test makes, and the engines that it makes them on."""

from __future__ import annotations

import pytest

from pipelines.engine_modes import LaunchEngine
from pipelines.serving.load.plan import default_flags, default_passes, flags_name, tuning_passes, with_flags
from registry.load_profile import Flags
from tests.pipelines.serving.load.load_material import load_settings

TUNING = {"rates": [2.0, 8.0], "max_num_batched_tokens": [512], "max_num_seqs": [4]}
ENGINE = LaunchEngine.model_validate(
    {
        "mode": "launch",
        "command": ["python"],
        "device": "cpu",
        "dtype": "bfloat16",
        "max_model_len": 2048,
        "max_num_seqs": 16,
        "max_num_batched_tokens": 2048,
        "prefix_caching": False,
        "dialect": "hermes",
        "concurrency": 1,
        "start_timeout_s": 10,
        "request_timeout_s": 10,
    }
)


def test_every_rate_is_repeated_cold_and_the_middle_one_also_warm() -> None:
    names = [one.name for one in default_passes(load_settings())]
    assert names == [
        "closed-1-cold-0",
        "closed-2-cold-0",
        "open-1-cold-0",
        "open-1-cold-1",
        "open-2-cold-0",
        "open-2-warm-0",
        "open-2-cold-1",
        "open-2-warm-1",
        "open-4-cold-0",
        "open-4-cold-1",
    ]


def test_rates_of_the_tuning_are_measured_with_the_default_flags_too() -> None:
    settings = load_settings(tuning=TUNING)
    default = {one.name for one in default_passes(settings)}
    tuned = [one.name for one in tuning_passes(settings)]
    assert tuned == ["open-2-cold-0", "open-2-cold-1", "open-8-cold-0", "open-8-cold-1"]
    assert default.issuperset(tuned)
    assert tuning_passes(load_settings()) == []


def test_names_tell_all_passes_and_flags_apart() -> None:
    names = [one.name for one in default_passes(load_settings(tuning=TUNING))]
    assert len(set(names)) == len(names)
    flags = [Flags(max_num_batched_tokens=a, max_num_seqs=b) for a, b in ((512, 4), (51, 24))]
    assert [flags_name(one) for one in flags] == ["512-4-0", "51-24-0"]


@pytest.mark.parametrize(
    ("flags", "threshold", "kept"),
    [
        ([], 0, []),
        (["--enforce-eager"], 0, ["--enforce-eager"]),
        (["--long-prefill-token-threshold", "256", "--enforce-eager"], 256, ["--enforce-eager"]),
    ],
)
def test_default_flags_are_the_profiles_and_other_flags_replace_them(
    flags: list[str], threshold: int, kept: list[str]
) -> None:
    engine = ENGINE.model_copy(update={"flags": flags})
    assert default_flags(engine) == Flags(
        max_num_batched_tokens=2048, max_num_seqs=16, long_prefill_token_threshold=threshold
    )
    other = Flags(max_num_batched_tokens=512, max_num_seqs=4, long_prefill_token_threshold=64)
    changed = with_flags(engine, other)
    assert default_flags(changed) == other
    assert changed.flags == [*kept, "--long-prefill-token-threshold", "64"]
    assert changed.prefix_caching
    assert with_flags(engine, Flags(max_num_batched_tokens=512, max_num_seqs=4)).flags == kept


@pytest.mark.parametrize(("limited", "tuned"), [(None, True), (["bf16"], True), (["fp8"], False), ([], False)])
def test_tuning_may_be_limited_to_some_variants(limited: list[str] | None, tuned: bool) -> None:
    settings = load_settings(tuning={**TUNING, "variants": limited})
    assert (settings.of("bf16").tuning is not None) is tuned
    assert load_settings().of("bf16").tuning is None
