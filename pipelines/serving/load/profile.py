"""From passes to a variant's load profile: cells, saturation, tuning, and the digests of what they were made from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalsets.records import InputError, digest
from pipelines.serving.load.cells import cell
from pipelines.serving.load.measure import engine_under_load, measure
from pipelines.serving.load.plan import Pass, default_flags, default_passes, flags_name, tuning_passes
from pipelines.serving.load.results import Repeat
from pipelines.serving.load.saturation import saturation
from pipelines.serving.load.settings import LoadParams, LoadSettings
from pipelines.serving.load.subject import Subject
from pipelines.serving.load.tuning import grid, seqs_bound, tune
from quantize.manifest import Manifest
from registry.load_profile import Flags, LoadProfile, Tuning


def measured_profile(params: LoadParams, settings: LoadSettings, subject: Subject, manifest: Manifest) -> LoadProfile:
    """Measure what is missing, then everything that the measurements say of the variant.

    Raises `InputError` where the engine fails with the profile's own flags; other flags that fail are left out.
    """
    flags = default_flags(subject.engine)
    repeats = measure(subject, flags, default_passes(settings))
    engine = engine_under_load(subject, flags)
    bound = seqs_bound(engine.kv_tokens, float(np.percentile([row.own_tokens for row in subject.trace.requests], 95)))
    tried, left_out = _tried(settings, subject, flags, bound)
    tried = {flags: _of_tuning(repeats, settings), **tried}
    cells = [cell(group, settings.budget, settings.long_tokens) for group in by_cell(repeats)]
    return LoadProfile(
        profile=params.profile,
        variant=manifest.variant,
        weights_digest=manifest.weights_digest,
        served_digest=subject.served.digest,
        served_name=subject.name,
        execution=engine.execution,
        hardware=engine.hardware,
        engine_version=engine.execution.engine_version,
        flags=flags,
        trace_sha256=subject.trace.sha256,
        generated=subject.trace.generated,
        too_long=subject.trace.too_long,
        long_tokens=settings.long_tokens,
        kv_tokens=engine.kv_tokens,
        weight_bytes=manifest.weight_bytes,
        budget=settings.budget,
        cells=[one for one in cells if one.rate is not None],
        saturation=saturation([one for one in cells if one.concurrency is not None]),
        tuning=_tuning(settings, tried, left_out),
        price_per_hour=settings.price_per_hour,
        currency=settings.currency,
        inputs=_digests([*repeats, *(one for others in tried.values() for one in others)]),
    )


def by_cell(repeats: Sequence[Repeat]) -> list[list[Repeat]]:
    """Repeats of the same cell together, cells in the order of their first repeat."""
    found: dict[str, list[Repeat]] = {}
    for one in repeats:
        found.setdefault(one.offered.model_dump_json(), []).append(one)
    return list(found.values())


def _tried(
    settings: LoadSettings, subject: Subject, default: Flags, bound: int
) -> tuple[dict[Flags, list[Repeat]], dict[str, str]]:
    """The results of every set of flags but the default, and by name those that gave none and why."""
    if settings.tuning is None:
        return {}, {}
    flags, left_out = grid(settings.tuning, default, bound)
    tried = {}
    for one in flags[1:]:
        try:
            tried[one] = measure(subject, one, tuning_passes(settings))
        except InputError as error:
            # Flags that the card cannot take are a finding; the others are still worth their time.
            left_out[flags_name(one)] = " ".join(str(error).split())[:300]
            print(f"load: {flags_name(one)} left out: {error}", flush=True)
    return tried, left_out


def _of_tuning(repeats: Sequence[Repeat], settings: LoadSettings) -> list[Repeat]:
    wanted = {one.name for one in tuning_passes(settings)}
    return [one for one in repeats if Pass(one.offered, one.repeat).name in wanted]


def _tuning(settings: LoadSettings, tried: dict[Flags, list[Repeat]], left_out: dict[str, str]) -> Tuning | None:
    if settings.tuning is None:
        return None
    cells = [(flags, by_cell(repeats)) for flags, repeats in tried.items()]
    return tune(cells, settings.budget, settings.long_tokens, left_out)


def _digests(repeats: Sequence[Repeat]) -> dict[str, str]:
    named = {f"{flags_name(one.flags)}/{Pass(one.offered, one.repeat).name}": one for one in repeats}
    return {name: digest(one) for name, one in sorted(named.items())}
