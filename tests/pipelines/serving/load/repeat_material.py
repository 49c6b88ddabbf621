"""Repeats of cells made by hand or by chance, for the tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from pipelines.serving.load.results import Counters, Offered, Repeat, Sample, Use
from pipelines.serving.load.trace import TraceRequest
from registry.load_profile import Budget, Flags

FLAGS = Flags(max_num_batched_tokens=2048, max_num_seqs=16)
BUDGET = Budget(ttft_ms=500, itl_ms=100)
LONG = 1000
SCENES = ("qa", "工具")
SEEN = Use(kv_mean=0.25, kv_peak=0.5, waiting_peak=3, running_peak=4, device_busy=0.5, device_memory=10)


def sample(ttft_s: float | None = 0.2, itl_s: Sequence[float] = (0.05, 0.06), **fields: Any) -> Sample:
    """An answered request, or a failed one where `ttft_s` is None."""
    given: dict[str, Any] = {"scene": "qa", "prompt_tokens": 100, "start_s": 0.0, **fields}
    if ttft_s is None:
        return Sample(**given, output_tokens=0, ttft_s=None, itl_s=[], error="ServerDisconnectedError")
    return Sample(**given, output_tokens=len(itl_s) + 1, ttft_s=ttft_s, itl_s=list(itl_s))


def repeat(samples: Sequence[Sample], number: int = 0, **fields: Any) -> Repeat:
    """One pass of 10 s; three quarters of the prompts' tokens were in the prefix cache."""
    tokens = sum(one.prompt_tokens for one in samples)
    counters = Counters(prompt_tokens=tokens, generation_tokens=0, queries=tokens, hits=tokens * 3 // 4, preemptions=0)
    given = {"flags": FLAGS, "offered": Offered(rate=2), "duration_s": 10.0, "counters": counters, "use": SEEN}
    return Repeat(**{**given, **fields, "repeat": number, "samples": list(samples)})


def trace_rows(lengths: Sequence[int], scene: str = "qa") -> list[TraceRequest]:
    """Requests with prompts of these lengths in tokens, and answers of 3."""
    return [TraceRequest(scene, "x", length, 3, length) for length in lengths]


def result_of(rows: Sequence[TraceRequest], failed: Sequence[int] = (), duration: float = 10.0) -> dict[str, Any]:
    """The load generator's detailed result for these requests, of which those at `failed` got no answer."""
    count = len(rows)
    return {
        "date": "20260101-000000",
        "duration": duration,
        "completed": count - len(failed),
        "failed": len(failed),
        "input_lens": [row.prompt_tokens for row in rows],
        "output_lens": [0 if index in failed else row.output_tokens for index, row in enumerate(rows)],
        "ttfts": [0.0 if index in failed else 0.2 + index / 100 for index in range(count)],
        "itls": [[] if index in failed else [0.05] * (row.output_tokens - 1) for index, row in enumerate(rows)],
        "start_times": [5000.5 + index for index in range(count)],
        "errors": ["Traceback\n  line\nTimeoutError: late\n" if index in failed else "" for index in range(count)],
    }


_seconds = st.floats(0.001, 2)
samples = st.builds(
    sample,
    st.one_of(st.none(), _seconds),
    st.lists(_seconds, max_size=4),
    scene=st.sampled_from(SCENES),
    prompt_tokens=st.integers(1, 2 * LONG),
    start_s=st.floats(0, 60),
)
cells = st.lists(st.lists(samples, min_size=1, max_size=6), min_size=1, max_size=3).map(
    lambda groups: [repeat(group, number, duration_s=5.0 + number) for number, group in enumerate(groups)]
)
budgets = st.builds(
    Budget,
    ttft_ms=st.floats(1, 2000),
    itl_ms=st.floats(1, 2000),
    errors=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    preemptions=st.integers(0, 2),
)
