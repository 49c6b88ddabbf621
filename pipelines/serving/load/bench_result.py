"""The detailed result of `vllm bench serve` (`--save-result --save-detailed`) as samples. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from evalsets.records import InputError, explain
from pipelines.serving.load.results import Sample
from pipelines.serving.load.trace import TraceRequest


class DetailedResult(BaseModel):
    """The part of the result that is read: lists have one entry per request, in the order sent; times in seconds.

    A failed request has an output length of 0. Its error is a traceback, an HTTP reason, or nothing at all, and it may
    have the times of the tokens that came before.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    duration: float
    completed: int
    input_lens: list[int]
    output_lens: list[int]
    ttfts: list[float]
    itls: list[list[float]]
    start_times: list[float]
    errors: list[str]


def samples_of(
    result: Mapping[str, Any], trace: Sequence[TraceRequest], where: str = "the load generator's result"
) -> tuple[list[Sample], float]:
    """One sample per request of the trace, in its order, and the pass's duration in seconds.

    The generator was run with `--disable-shuffle`, so the order is the trace's; the prompt lengths that the engine
    counted are held against the trace's to be sure. Raises `InputError` naming `where` for a result that is not
    detailed, or whose counts are not the trace's.
    """
    try:
        found = DetailedResult.model_validate(result)
    except ValidationError as error:
        raise InputError(
            f"{where}: {explain(error)}; write it by vllm bench serve --save-result --save-detailed"
        ) from None
    _check_counts(found, len(trace), where)
    first = min(found.start_times, default=0.0)
    samples = [_sample(found, index, row, first) for index, row in enumerate(trace)]
    done = sum(sample.ttft_s is not None for sample in samples)
    if done != found.completed:
        raise InputError(f"{where}: {found.completed} requests completed, {done} have an answer; measure it again")
    for index, (sample, counted) in enumerate(zip(samples, found.input_lens, strict=True)):
        if sample.ttft_s is not None and sample.prompt_tokens != counted:
            raise InputError(
                f"{where}: request {index} has {counted} prompt tokens, {sample.prompt_tokens} in the trace; "
                "give the trace that was offered, in its order (--disable-shuffle), counted by the model's tokenizer"
            )
    return samples, found.duration


def _check_counts(found: DetailedResult, wanted: int, where: str) -> None:
    lists = ("input_lens", "output_lens", "ttfts", "itls", "start_times", "errors")
    counts = {name: len(getattr(found, name)) for name in lists}
    if wrong := {name: count for name, count in counts.items() if count != wanted}:
        listed = ", ".join(f"{count} {name}" for name, count in wrong.items())
        raise InputError(f"{where}: {listed} for {wanted} requests of the trace; give the trace that was offered")


def _sample(found: DetailedResult, index: int, row: TraceRequest, first: float) -> Sample:
    error, tokens = found.errors[index].strip(), found.output_lens[index]
    failed = bool(error) or tokens == 0
    return Sample(
        scene=row.scene,
        prompt_tokens=row.prompt_tokens,
        output_tokens=0 if failed else tokens,
        start_s=found.start_times[index] - first,
        ttft_s=None if failed else found.ttfts[index],
        itl_s=[] if failed else found.itls[index],
        # The last line of a traceback says what happened.
        error=(error.splitlines()[-1] if error else "no answer, and no reason given") if failed else "",
    )
