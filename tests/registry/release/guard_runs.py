"""Seeded simulations of the guard: years of daily windows, looked at after each.

A rate is the share of runs in which an alarm was raised at any look. Excesses and rates are shares, not percent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from registry.release.excess import Counts, log_wealth

MARGIN = 0.005
ALPHA = 0.05
Z_ONE_SIDED = 1.6449  # 5 %
Looks = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Traffic:
    """Sessions a day of each variant, the baseline's complaint rate, and by how much the candidate's is above it.

    The excess begins after `sound_days` without one. `wobble` is the standard deviation of the logarithm of a daily
    factor of mean 1 (0: the same every day): each variant's own on its own rate, or if `together` one on the rate that
    both have without the excess.
    """

    baseline: int
    candidate: int
    rate: float
    excess: float
    sound_days: int = 0
    wobble: float = 0.0
    together: bool = False


def split(sessions: int, share: float, rate: float, excess: float) -> Traffic:
    """Traffic of that many sessions a day in all, of which the candidate has a share."""
    candidate = round(sessions * share)
    return Traffic(sessions - candidate, candidate, rate, excess)


def complaints(traffic: Traffic, days: int, runs: int, seed: int) -> tuple[Counts, Counts]:
    """Sessions (days, 2) and complaints (runs, days, 2) drawn from binomials, the baseline first."""
    rng = np.random.default_rng(seed)
    sessions = np.tile(np.array([traffic.baseline, traffic.candidate]), (days, 1))
    excess = np.zeros((days, 2))
    excess[traffic.sound_days :, 1] = traffic.excess
    factors = np.exp(rng.normal(-(traffic.wobble**2) / 2, traffic.wobble, (runs, days, 2)))
    rates = factors[..., :1] * traffic.rate + excess if traffic.together else factors * (traffic.rate + excess)
    return sessions, rng.binomial(sessions, np.minimum(rates, 1))


def alarm_days(traffic: Traffic, days: int, runs: int, seed: int) -> Looks:
    """The day of each run's first alarm, counted from 1; days + 1 where there was none."""
    sessions, drawn = complaints(traffic, days, runs, seed)
    return _first(log_wealth(sessions, drawn, MARGIN) >= -np.log(ALPHA))


def fixed_test_days(traffic: Traffic, days: int, runs: int, seed: int) -> Looks:
    """The same for a test that is made for one look: the z test of all counts so far, one-sided 5 %, every day."""
    sessions, drawn = complaints(traffic, days, runs, seed)
    n, found = sessions.cumsum(axis=0), drawn.cumsum(axis=-2)
    rates = (found + 0.5) / (n + 1)
    deviation = np.sqrt((rates * (1 - rates) / n).sum(-1))
    return _first(found[..., 1] / n[:, 1] - found[..., 0] / n[:, 0] - MARGIN >= Z_ONE_SIDED * deviation)


def _first(alarms: npt.NDArray[np.bool_]) -> Looks:
    days: Looks = np.where(alarms.any(-1), alarms.argmax(-1) + 1, alarms.shape[-1] + 1)
    return days
