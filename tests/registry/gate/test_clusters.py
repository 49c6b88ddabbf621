"""The design effect of clustered items, and that counts divided by it keep the gate's error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.gate.clusters import deflated, design_effect
from tests.registry.gate.simulated_runs import (
    cluster_sizes,
    clustered,
    clustered_rate,
    estimated_deffs,
    losing,
)

GATES = [(640, 0.025), (180, 0.05), (180, 0.04), (96, 0.12), (48, 0.16)]
COMPARISONS = 10_000
DIFFERENCES = st.sampled_from([-1.0, -1 / 3, 0.0, 0.5, 1.0])
CLUSTERS = st.dictionaries(st.text("ab", max_size=4), st.lists(DIFFERENCES, max_size=6), max_size=8)


@pytest.mark.parametrize(
    ("clusters", "deff"),
    [
        ({"a": [1, 1], "b": [0, 0], "c": [-1, 0]}, 7 / (17 / 5)),
        ({"a": [1, 1, 1], "b": [0], "c": [0, 0]}, 5.25 / 1.8),
        ({"a": [1, 1, 1], "b": [0], "c": [0, 0], "empty": []}, 5.25 / 1.8),
        ({"a": [1, -1], "b": [1, -1]}, 1.0),  # less than independent items would vary
        ({"a": [1, 0, -1]}, 1.0),  # one cluster
        ({"a": [1, 0, -1], "empty": []}, 1.0),
        ({"a": [0, 0], "b": [0]}, 1.0),  # no variance
        ({"a": [1 / 3, 1 / 3], "b": [1 - 2 / 3]}, 1.0),  # nor here, but for rounding
        ({}, 1.0),
    ],
)
def test_by_hand(clusters: dict[str, list[float]], deff: float) -> None:
    assert design_effect(clusters) == pytest.approx(deff, abs=1e-12)


@given(st.lists(DIFFERENCES, min_size=2, max_size=40))
def test_clusters_of_one_item_have_none(differences: list[float]) -> None:
    found = design_effect({str(index): [difference] for index, difference in enumerate(differences)})
    assert found == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("copies", [2, 3, 7])
def test_copies_of_an_item_count_as_one(copies: int) -> None:
    differences = [1, 0, 0, -1, 0, 1, 0, 0, 0, 0]
    items = len(differences)
    found = design_effect({str(index): [difference] * copies for index, difference in enumerate(differences)})
    assert found == pytest.approx(copies * items / (items - 1) * (copies * items - 1) / (copies * items))


@given(CLUSTERS)
def test_it_is_one_or_more_and_blind_to_names_order_and_side(clusters: dict[str, list[float]]) -> None:
    found = design_effect(clusters)
    assert 1 <= found < math.inf
    renamed = {str(index): cluster[::-1] for index, cluster in enumerate(reversed(clusters.values()))}
    exchanged = {name: [-difference for difference in cluster] for name, cluster in clusters.items()}
    assert design_effect(renamed) == pytest.approx(found)
    assert design_effect(exchanged) == pytest.approx(found)


@pytest.mark.parametrize("difference", [math.nan, math.inf])
def test_a_difference_that_is_no_number_is_refused(difference: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        design_effect({"a": [0, 1], "b": [difference]})


@given(st.integers(0, 50), st.integers(0, 50), st.floats(1, 10))
def test_deflated_counts_keep_their_shares(losses: int, gains: int, deff: float) -> None:
    fewer_losses, fewer_gains, items = deflated(losses, gains, 100, deff)
    assert (fewer_losses / items, fewer_gains / items) == pytest.approx((losses / 100, gains / 100))
    assert items == pytest.approx(100 / deff)
    assert deflated(losses, gains, 100, 1.0) == (losses, gains, 100)


@pytest.mark.parametrize("deff", [0.0, 0.99, -1.0, math.inf, math.nan])
def test_a_design_effect_below_one_is_refused(deff: float) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        deflated(3, 1, 100, deff)


@pytest.mark.parametrize(("n", "margin"), GATES)
def test_deflated_counts_keep_the_gates_error(n: int, margin: float) -> None:
    rng = np.random.default_rng(11)
    for deff in (1.2, 1.5, 2.0):
        for psi in (margin, margin + 0.03, 0.25):
            truth = losing(n, margin, psi)
            drawn = clustered(truth, deff, COMPARISONS, rng)
            assert clustered_rate(truth, margin, drawn, deff) <= 0.06, (deff, psi)


@pytest.mark.parametrize(("n", "margin"), GATES)
def test_without_it_a_true_loss_of_the_margin_passes_twice_as_often(n: int, margin: float) -> None:
    truth = losing(n, margin, 0.25)
    drawn = clustered(truth, 2.0, COMPARISONS, np.random.default_rng(13))
    assert clustered_rate(truth, margin, drawn, 1.0) > 0.1


@pytest.mark.parametrize("deff", [1.2, 1.5, 2.0])
def test_the_estimate_is_the_design_effect_on_average(deff: float) -> None:
    truth = losing(640, 0.025, 0.1)
    drawn = clustered(truth, deff, COMPARISONS, np.random.default_rng(19))
    assert float(np.mean(estimated_deffs(drawn))) == pytest.approx(deff, abs=0.04)
    sums = drawn.losses.sum(axis=1) - drawn.gains.sum(axis=1)
    independent = truth.n * (truth.psi - truth.drop**2)
    assert float(np.var(sums)) / independent == pytest.approx(deff, rel=0.06)


def test_the_simulations_estimate_is_the_shipped_one() -> None:
    drawn = clustered(losing(96, 0.12, 0.2), 1.5, 50, np.random.default_rng(23))
    assert int(drawn.sizes.sum()) == 96
    for index, found in enumerate(estimated_deffs(drawn).tolist()):
        clusters = {
            str(cluster): [1.0] * int(losses) + [-1.0] * int(gains) + [0.0] * int(size - losses - gains)
            for cluster, (losses, gains, size) in enumerate(
                zip(drawn.losses[index], drawn.gains[index], drawn.sizes, strict=True)
            )
        }
        assert design_effect(clusters) == pytest.approx(found)


@pytest.mark.parametrize("n", [18, 48, 96, 180, 640])
def test_the_simulated_clusters_have_4_to_9_items(n: int) -> None:
    sizes = cluster_sizes(n)
    assert int(sizes.sum()) == n
    assert set(sizes.tolist()) <= set(range(4, 10))
