"""The saturation point: the least concurrency at 95 % of the best, whatever the cells' order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import InputError
from pipelines.serving.load.cells import cell
from pipelines.serving.load.results import Offered
from pipelines.serving.load.saturation import saturation
from registry.load_profile import Cell, Interval
from tests.pipelines.serving.load.repeat_material import BUDGET, LONG, repeat, sample

ONE = cell([repeat([sample()], offered=Offered(concurrency=1))], BUDGET, LONG)


def closed(concurrency: int, requests_s: float) -> Cell:
    found = Interval(estimate=requests_s, lower=requests_s, upper=requests_s)
    return ONE.model_copy(update={"concurrency": concurrency, "requests_s": found})


@pytest.mark.parametrize(
    ("rates", "wanted"),
    [
        ({1: 1.0, 2: 1.9, 4: 2.0}, 2),
        ({1: 1.0, 2: 1.89, 4: 2.0}, 4),
        ({1: 1.0, 2: 2.0, 4: 1.0}, 2),
        ({4: 2.0, 1: 2.0}, 1),
        ({8: 0.5}, 8),
    ],
)
def test_the_least_concurrency_near_the_best(rates: dict[int, float], wanted: int) -> None:
    assert saturation([closed(count, value) for count, value in rates.items()]).concurrency == wanted


@given(st.dictionaries(st.integers(1, 64), st.floats(0.01, 100), min_size=1, max_size=6))
def test_it_was_tried_and_cells_come_by_concurrency(rates: dict[int, float]) -> None:
    found = saturation([closed(count, value) for count, value in rates.items()])
    assert [one.concurrency for one in found.cells] == sorted(rates)
    assert rates[found.concurrency] >= 0.95 * max(rates.values())
    assert all(rates[count] < 0.95 * max(rates.values()) for count in rates if count < found.concurrency)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([], "0 of 0 cells"),
        ([closed(1, 1.0), cell([repeat([sample()])], BUDGET, LONG)], "1 of 2 cells"),
        ([closed(1, 0.0)], "no cell answered"),
    ],
)
def test_nothing_to_find_it_from_is_refused(cells: list[Cell], message: str) -> None:
    with pytest.raises(InputError, match=message):
        saturation(cells)
