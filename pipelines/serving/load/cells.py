"""What the repeats of a cell say together: throughputs, tail latencies, goodput, and whether the budget was kept. Pure.

Intervals are those of `pipelines.serving.load.bootstrap`. The order of repeats does not matter, nor that of requests in
one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalsets.records import InputError
from pipelines.serving.load.bootstrap import Draws, Floats, draw, interval, rate, rates
from pipelines.serving.load.budget import Outcome, broken
from pipelines.serving.load.latency import finished, keeps_times, latencies, tail_quantile
from pipelines.serving.load.results import Repeat, Sample
from registry.load_profile import Budget, Cell, Interval, Latency

SEED, OTHER_SEED = 1, 2


def cell(repeats: Sequence[Repeat], budget: Budget, long_tokens: int) -> Cell:
    """All repeats of one cell together; a prompt of `long_tokens` or more is long.

    A throughput is the requests' sum over the repeats' durations, which last until the last answer: with few requests
    it lies below the offered rate though the engine keeps up. Where it does not, the queue grows for as long as
    requests come, and shows in the time to first token. Answers' tokens are those of finished requests. Prompts' are
    what the engine counted, shared out over a repeat's requests by their length, for the intervals. A request that
    `keeps_times` counts as good, at the quantile of group `all`. Preemptions are of all repeats together.

    A single repeat says nothing of the variance between repeats: where it answered every request, the interval of its
    `requests_s` is a point.

    The budget's times are held against the estimates of group `all`, in which failed requests have no time; their
    share of all requests has a budget of its own. A cell without an answer does not keep any.

    Raises `InputError` where there is no repeat, or they are not of one cell, or one has no request or no duration.
    """
    ordered = _checked(repeats)
    samples = [sample for one in ordered for sample in one.samples]
    draws = draw([len(one.samples) for one in ordered], SEED)
    durations = np.array([one.duration_s for one in ordered])
    latency = latencies(samples, draws, long_tokens)
    broke = broken(_outcome(ordered, latency.get("all")), budget)
    amounts = _amounts(ordered, samples)
    queries = sum(one.counters.queries for one in ordered)
    offered = ordered[0].offered
    return Cell(
        rate=offered.rate,
        concurrency=offered.concurrency,
        cache=offered.cache,
        repeats=len(ordered),
        requests=len(samples),
        failed=len(samples) - finished(samples),
        **{name: rate(amount, durations, draws) for name, amount in amounts.items()},
        hit_rate=sum(one.counters.hits for one in ordered) / queries if queries else 0.0,
        preemptions=sum(one.counters.preemptions for one in ordered),
        kv_use_mean=_mean([one.use.kv_mean for one in ordered], durations),
        kv_use_peak=max(one.use.kv_peak for one in ordered),
        waiting_peak=max(one.use.waiting_peak for one in ordered),
        device_busy=_mean([one.use.device_busy for one in ordered], durations),
        device_memory=max(one.use.device_memory for one in ordered),
        latency=latency,
        goodput=rate(_good(samples, budget), durations, draws),
        kept=not broke,
        broke=broke,
    )


def goodput_difference(first: Sequence[Repeat], second: Sequence[Repeat], budget: Budget) -> Interval:
    """The goodput of the first cell less the second's, requests per second.

    Both are drawn on their own, also where they were offered the same requests: at different rates these meet a
    different queue, and pairs of them have little in common.
    """
    one, one_drawn = _goodput(first, budget, SEED)
    other, other_drawn = _goodput(second, budget, OTHER_SEED)
    return interval(one - other, one_drawn - other_drawn)


def _outcome(repeats: Sequence[Repeat], tail: Latency | None) -> Outcome:
    requests = sum(len(one.samples) for one in repeats)
    failed = requests - sum(finished(one.samples) for one in repeats)
    return Outcome(requests, failed, sum(one.counters.preemptions for one in repeats), tail)


def _goodput(repeats: Sequence[Repeat], budget: Budget, seed: int) -> tuple[float, Floats]:
    ordered = _checked(repeats)
    good = _good([sample for one in ordered for sample in one.samples], budget)
    durations = np.array([one.duration_s for one in ordered])
    draws: Draws = draw([len(one.samples) for one in ordered], seed)
    return float(good.sum() / durations.sum()), rates(good, durations, draws)


def _good(samples: Sequence[Sample], budget: Budget) -> Floats:
    quantile = tail_quantile(finished(samples))
    return np.array([keeps_times(sample, budget, quantile) for sample in samples], dtype=np.float64)


def _amounts(repeats: Sequence[Repeat], samples: Sequence[Sample]) -> dict[str, Floats]:
    """What each request adds to each throughput of a cell."""
    done = np.array([sample.ttft_s is not None for sample in samples], dtype=np.float64)
    lengths = [np.array([sample.prompt_tokens for sample in one.samples], dtype=np.float64) for one in repeats]
    shares = [length / length.sum() if length.any() else length for length in lengths]
    counted = [one.counters.prompt_tokens for one in repeats]
    computed = [one.counters.prompt_tokens - one.counters.hits for one in repeats]
    return {
        "requests_s": done,
        "output_tok_s": done * np.array([sample.output_tokens for sample in samples], dtype=np.float64),
        "prompt_tok_s": np.concatenate([share * tokens for share, tokens in zip(shares, counted, strict=True)]),
        "computed_tok_s": np.concatenate([share * tokens for share, tokens in zip(shares, computed, strict=True)]),
    }


def _mean(values: Sequence[float], durations_s: Floats) -> float:
    return min(1.0, float(np.average(values, weights=durations_s)))  # shares: not past 1 by rounding


def _checked(repeats: Sequence[Repeat]) -> list[Repeat]:
    """The repeats of one cell in an order of their own, so that draws do not depend on the order given."""
    if not repeats:
        raise InputError("a cell without a repeat; measure it first")
    cells = sorted({f"{one.offered.model_dump_json()} {one.flags.model_dump_json()}" for one in repeats})
    if len(cells) > 1:
        raise InputError(f"repeats of several cells given as one: {'; '.join(cells)}; give those of one cell")
    for one in repeats:
        if not one.samples or one.duration_s <= 0:
            raise InputError(
                f"{cells[0]}, repeat {one.repeat}: {len(one.samples)} requests in {one.duration_s} s; measure it again"
            )
    ordered = [one.model_copy(update={"samples": sorted(one.samples, key=_place)}) for one in repeats]
    return sorted(ordered, key=lambda one: (one.repeat, one.duration_s))


def _place(sample: Sample) -> tuple[float, str, int, int, float, list[float]]:
    first = -1.0 if sample.ttft_s is None else sample.ttft_s
    return sample.start_s, sample.scene, sample.prompt_tokens, sample.output_tokens, first, sample.itl_s
