"""What a run asks of its engines: requests and tokens of the suites and of the load test. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipelines.engine_modes import LaunchEngine
from pipelines.planning.material import Material
from pipelines.planning.records import Amount, Asked, LoadTest, RequestLength, Room
from pipelines.serving.capacity import Length, Request, traffic_of
from pipelines.serving.load.measure import WARM_UP
from pipelines.serving.load.plan import default_flags, default_passes, tuning_passes
from pipelines.serving.load.settings import LoadSettings
from pipelines.serving.load.tuning import grid, seqs_bound

WHOLE = "max_model_len"
BLOCK = 16
UNBOUNDED = 10**12  # KV tokens, where the profile does not say how many there are


def asked(material: Material) -> list[Asked]:
    """Every suite of every run, runs in the profile's order. Answers take at most their suite's limit of new tokens."""
    profile, found = material.profile, []
    for run, one in profile.runs.items():
        for suite, tokens in material.prompts.suites.items():
            passes = profile.suites[suite].runs
            requests = passes * len(tokens)
            found.append(
                Asked(
                    run=run,
                    variant=one.variant,
                    suite=suite,
                    requests=requests,
                    prompt_tokens=Amount(value=passes * sum(tokens), basis=material.prompts.basis),
                    most_answer_tokens=_calculated(requests * profile.sampling.max_tokens[suite]),
                )
            )
    return found


def lengths(material: Material) -> list[Length]:
    """The requests whose sequences are counted: the longest of each suite, the load test's mean and p95, and the limit.

    Nothing is taken as shared, so that more fit where prefixes are cached.
    """
    found = []
    for suite, tokens in material.prompts.suites.items():
        answer = material.profile.sampling.max_tokens[suite]
        found.append(Length(f"{suite}, longest", max(tokens), answer, max(tokens) + answer))
    found += _load_lengths(material.prompts.load)
    whole = material.profile.engine.max_model_len
    return [*found, Length(WHOLE, whole, 0, whole)]


def shown_lengths(material: Material, found: Sequence[Length]) -> list[RequestLength]:
    """The lengths as the plan has them. A limit is exact, a prompt is as good as it was counted."""
    return [
        RequestLength(
            kind=one.statistic,
            prompt_tokens=Amount(
                value=one.input_tokens, basis="calculated" if one.statistic == WHOLE else material.prompts.basis
            ),
            answer_tokens=_calculated(one.output_tokens),
        )
        for one in found
    ]


def load_tests(material: Material, rooms: Sequence[Room]) -> list[LoadTest]:
    """The load test of every variant that has one; none where its traffic or its engine cannot be had."""
    settings, engine = material.profile.load, material.profile.engine
    if settings is None or not material.prompts.load or not isinstance(engine, LaunchEngine):
        return []
    tokens = {one.variant: one.kv_tokens.value for one in rooms}
    return [
        _load_test(material, settings, engine, name, max(1, tokens.get(name, UNBOUNDED))) for name in settings.variants
    ]


def _load_test(
    material: Material, settings: LoadSettings, engine: LaunchEngine, variant: str, kv_tokens: int
) -> LoadTest:
    default, requests = default_flags(engine), material.prompts.load
    own = next(one.own_tokens for one in traffic_of(requests, BLOCK).lengths if one.statistic == "p95")
    flags, left_out = grid(settings.tuning, default, seqs_bound(kv_tokens, own)) if settings.tuning else ([default], {})
    passes = [*default_passes(settings), *tuning_passes(settings) * (len(flags) - 1)]
    # A warm pass sends its requests once more before, to fill the cache.
    sent = len(flags) * WARM_UP + sum(settings.requests * (2 if one.offered.cache == "warm" else 1) for one in passes)
    mean = [sum(getattr(one, name) for one in requests) / len(requests) for name in ("input_tokens", "output_tokens")]
    prompt, answer = (Amount(value=round(sent * tokens), basis=material.prompts.basis) for tokens in mean)
    return LoadTest(
        variant=variant,
        flags=flags,
        left_out=left_out,
        passes=len(passes),
        requests=sent,
        prompt_tokens=prompt,
        answer_tokens=answer,
    )


def _load_lengths(requests: Sequence[Request]) -> list[Length]:
    if not requests:
        return []
    alone = [Request(one.input_tokens, one.output_tokens) for one in requests]
    return [
        replace(one, statistic=f"load, {one.statistic}")
        for one in traffic_of(alone, BLOCK).lengths
        if one.statistic in ("mean", "p95")
    ]


def _calculated(value: int) -> Amount:
    return Amount(value=value, basis="calculated")
