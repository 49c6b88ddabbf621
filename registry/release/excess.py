"""How strongly counts speak for a candidate whose complaint rate exceeds the baseline's by more than a margin.

The answer may be looked at after every window, for as long as one likes. It is an e-process: a wealth that starts at 1
and that no candidate within the margin can be expected to raise. By Ville's inequality (1939) such a candidate brings
it to 1 / alpha with a chance of at most alpha, over all looks together.

One window, one guess (a, b) of the two complaint rates with b - a above the margin: let (q, q + margin) be the pair
nearest to the guess in Kullback-Leibler divergence, each variant weighted by its sessions. Then the likelihood ratio
P(counts | a, b) / P(counts | q, q + margin) has an expectation of at most 1 under every pair of rates within the margin
(Turner, Ly and Gruenwald 2024, JSPI 230:106116; for a margin Turner and Gruenwald 2023, arXiv:2203.09785). Why: the
logarithm of that expectation is concave in the rates, 0 at (q, q + margin), and has there the gradient of the negative
divergence, so that both are largest there. It is exact at any number of sessions, however rates move from window to
window or session to session, so the ratios of successive windows may be multiplied.

Nobody knows the rates, nor since when the candidate is worse. So the wealth is divided beforehand over a grid of
guesses, and over the windows in which bets begin: a share of 1 / (t (t + 1)) waits for window t. Without the latter,
months of good counts would have to be outweighed before a later fault shows (weighted starts as in Shin, Ramdas and
Rinaldo 2023, doi:10.51387/23-NEJSDS51).
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

BASES = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16)  # guesses of the baseline's rate
BEYOND = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)  # and of the candidate's excess beyond the margin
GUESSES = np.array(list(itertools.product(BASES, BEYOND)))
HALVINGS = 60  # of an interval narrower than 1: as near as floats get
PARTS = 5  # `at_least` counts in fifths of the margin,
HIGHEST = 10  # up to this many margins


def log_wealth(sessions: Counts, complaints: Counts, margin: float) -> Array:
    """The natural logarithm of the wealth after each window, shape (..., windows).

    `sessions` has shape (windows, 2) and `complaints` (..., windows, 2), both the baseline first; leading dimensions
    are independent runs with the same sessions. `margin` is a difference of rates, from 0 to 0.7. A window in which a
    variant has no sessions changes nothing but the bets that begin with it.
    """
    base, beyond = GUESSES.T
    guess = np.stack([base, base + margin + beyond], axis=-1)
    nearest = nearest_within(guess, sessions, margin)
    good = np.log((1 - guess) / (1 - nearest))  # what a session without a complaint adds, (windows, guesses, 2)
    bad = np.log(guess / nearest)
    if_all_good = (sessions[:, None, :] * good).sum(-1)
    bets = np.full((*complaints.shape[:-2], len(GUESSES)), -np.inf)
    wealth = np.empty(complaints.shape[:-1])
    for index in range(len(sessions)):
        look = index + 1
        bets = np.logaddexp(bets, -np.log(look * (look + 1) * len(GUESSES)))
        bets = bets + if_all_good[index] + complaints[..., index, :] @ (bad - good)[index].T
        waiting = 1 / (look + 1)  # the sum of the shares of all later windows
        wealth[..., index] = np.logaddexp(np.logaddexp.reduce(bets, axis=-1), np.log(waiting))
    return wealth


def nearest_within(guess: Array, sessions: Counts, margin: float) -> Array:
    """The pairs (q, q + margin) nearest to `guess`, shape (guesses, 2), in each window: (windows, guesses, 2).

    The derivative of the divergence by q is negative at the guessed baseline's rate, positive where q + margin is the
    guessed candidate's, and rises in between: bisection. Without sessions of one variant the other's guess is met.
    """
    shape = (len(sessions), len(guess))
    low = np.broadcast_to(guess[:, 0], shape)
    high = np.broadcast_to(guess[:, 1] - margin, shape)
    for _ in range(HALVINGS):
        q = (low + high) / 2
        pair = np.stack([q, q + margin], axis=-1)
        falls = (sessions[:, None, :] * (guess - pair) / (pair * (1 - pair))).sum(-1) > 0
        low, high = np.where(falls, q, low), np.where(falls, high, q)
    q = (low + high) / 2
    return np.stack([q, q + margin], axis=-1)


def first_alarm(wealth: Array, alpha: float) -> int | None:
    """The index of the first window after which the wealth of one run reached 1 / alpha, None if it never did."""
    reached = np.flatnonzero(wealth >= -np.log(alpha))
    return int(reached[0]) if len(reached) else None


def at_least(sessions: Counts, complaints: Counts, margin: float, alpha: float) -> float | None:
    """A lower bound of the excess: a multiple of a fifth of `margin`, at most ten margins; None if not even 0.

    Shapes as in `log_wealth`, for one run. Fifths are tried upwards from 0 for as long as each was at some look shown
    to be exceeded. The chance that the bound ever comes to lie above the true excess is at most alpha: it would take
    a false alarm at the first fifth that is not below it. Where the excess moves, that of its worst window
    is meant.
    """
    shown = None
    for part in range(HIGHEST * PARTS + 1):
        tried = part * margin / PARTS
        if first_alarm(log_wealth(sessions, complaints, tried), alpha) is None:
            break
        shown = tried
    return shown


def mean_excess(sessions: Counts, complaints: Counts) -> float | None:
    """The candidate's complaint rate less the baseline's, averaged over windows (-1 to 1); None without sessions.

    Mantel-Haenszel weights n0 n1 / (n0 + n1), so that a share that moves while rates move does not feign a difference.
    """
    base, candidate = sessions.T.astype(np.float64)
    weights = base * candidate / np.maximum(base + candidate, 1)
    if not weights.any():
        return None
    rates = complaints / np.maximum(sessions, 1)
    return float(weights @ (rates[:, 1] - rates[:, 0]) / weights.sum())
