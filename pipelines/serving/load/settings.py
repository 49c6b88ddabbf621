"""The profile's section `load`: which traffic at which rates, the budget, and the flags that tuning tries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from evalsets.records import Record
from pipelines.params import PARAMS, Params, read_settings, validated
from registry.load_profile import Budget

Rate = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class TrafficSettings(Record):
    """Traffic made from the suites (`pipelines.serving.generate_log.Traffic` has what the fields mean).

    `scenes` are the policy's traffic shares unless given.
    """

    seed: int = 1
    scenes: Annotated[dict[str, Rate], Field(min_length=1)]
    tenants: Count = 40
    another_turn: Annotated[float, Field(ge=0, lt=1)] = 0.45
    handbook_chars: Count = 2600
    tenant_chars: Count = 190
    answer_chars: Count = 600


class TuningSettings(Record):
    """Every combination of these is tried at these rates. `long_prefill_token_threshold` 0 is no threshold.

    `variants` limits it to some of those that are measured; None: all of them.
    """

    variants: list[str] | None = None
    rates: Annotated[list[Rate], Field(min_length=1)]
    max_num_batched_tokens: Annotated[list[Count], Field(min_length=1)]
    max_num_seqs: Annotated[list[Count], Field(min_length=1)]
    long_prefill_token_threshold: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = [0]


class LoadSettings(Record):
    """The load test of a run.

    `variants` are measured, the others are not. `log` is a request log of one's own (docs/serving.md); without it
    `traffic` is generated. A cell has `requests` requests and is repeated `repeats` times, each repeat with requests of
    its own. `rates` in requests per second, ascending; `concurrency` of the closed loops that find saturation. A prompt
    of `long_tokens` or more is long.
    """

    variants: Annotated[list[str], Field(min_length=1)]
    log: str | None = None
    traffic: TrafficSettings
    requests: Count
    repeats: Annotated[int, Field(ge=2)]
    rates: Annotated[list[Rate], Field(min_length=3)]
    concurrency: Annotated[list[Count], Field(min_length=2)]
    long_tokens: Count
    budget: Budget
    tuning: TuningSettings | None = None
    price_per_hour: Annotated[float, Field(gt=0)] | None = None
    currency: str = ""

    def of(self, variant: str) -> LoadSettings:
        """What is measured of one variant: without tuning where that is limited to others."""
        tuned = self.tuning is not None and (self.tuning.variants is None or variant in self.tuning.variants)
        return self if tuned else self.model_copy(update={"tuning": None})


class LoadParams(Params):
    """What the load stage reads of params.yaml: what makes and serves variants, and the load test; None: there is none.

    Not the policy, so that a new threshold re-runs no load test.
    """

    load: LoadSettings | None = None


def load_params(path: Path = PARAMS) -> LoadParams:
    """Those sections of a rendered params.yaml. Raises `InputError` naming the key."""
    settings = read_settings(path)
    return validated(
        {key: value for key, value in settings.items() if key in LoadParams.model_fields}, LoadParams, path
    )
