"""Daily complaint counts for the tests of the guard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from registry.release.complaints import Count
from registry.release.excess import Counts

Day = tuple[int, int, int, int]  # sessions and complaints of the baseline, then of the candidate


def rows_of(days: Sequence[Day]) -> list[Count]:
    rows = []
    for number, (base_sessions, base_complaints, sessions, complaints) in enumerate(days):
        window = f"{2026 + number // 336}-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}"
        rows.append(Count(window=window, variant="awq-int4", sessions=sessions, complaints=complaints))
        rows.append(Count(window=window, variant="bf16", sessions=base_sessions, complaints=base_complaints))
    return rows


def tables(days: Sequence[Day]) -> tuple[Counts, Counts]:
    numbers = np.array(days, dtype=np.int64).reshape(-1, 2, 2)
    return numbers[..., 0], numbers[..., 1]


@st.composite
def some_days(draw: st.DrawFn) -> list[Day]:
    def counts() -> tuple[int, int]:
        sessions = draw(st.integers(0, 3000))
        return sessions, draw(st.integers(0, min(sessions, 150)))

    return [(*counts(), *counts()) for _ in range(draw(st.integers(1, 4)))]
