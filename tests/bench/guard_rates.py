"""The guard's published rates: `python -m tests.bench.guard_rates` prints the tables of docs/guard.md, simulated."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tqdm import tqdm

from registry.release.canary import Canary
from tests.registry.release.guard_runs import Looks, Traffic, alarm_days, fixed_test_days, split

SEED = 31
YEAR = 365
RUNS = 2000
RATES = (0.003, 0.01, 0.03)
DESK_RATES = (0.005, 0.01, 0.02)
SESSIONS = 5000
SMALL = 2000
SHARES = (0.05, 0.10, 0.25, 0.50)
AT_MARGIN = 0.005
# sessions a day of baseline and candidate, from 200 to 20,000
SIZES = ((200, 200), (3800, 200), (5000, 5000), (20000, 1053), (20000, 20000))


def false_alarm_table() -> str:
    """Percent of years with an alarm at an excess of exactly the margin: the guard's, and a one-look test's."""
    rows = []
    for baseline, candidate in tqdm(SIZES, desc="at the margin", disable=None):
        traffic = [Traffic(baseline, candidate, rate, AT_MARGIN) for rate in RATES]
        guard = [_within(alarm_days(each, YEAR, RUNS, SEED), YEAR) for each in traffic]
        fixed = [_within(fixed_test_days(each, YEAR, RUNS, SEED), YEAR) for each in traffic]
        rows.append([f"{baseline:,}", f"{candidate:,}", *guard, *fixed])
    guard_header = [f"guard, baseline at {100 * rate:g} %" for rate in RATES]
    fixed_header = [f"one-look test, {100 * rate:g} %" for rate in RATES]
    return _markdown(["baseline", "candidate", *guard_header, *fixed_header], rows)


def power_table(excess: float) -> str:
    """Days until the alarm, median and the 90th of 100 runs, at 5,000 sessions a day."""
    rows = []
    for share in tqdm(SHARES, desc=f"excess {100 * excess:g} pp", disable=None):
        found = [alarm_days(split(SESSIONS, share, rate, excess), YEAR, RUNS // 4, SEED) for rate in RATES]
        rows.append([f"{100 * share:g} %", *map(_median_and_ninety, found)])
    return _markdown(["candidate's share", *(f"baseline at {100 * rate:g} %" for rate in RATES)], rows)


def detection_table() -> str:
    """Days until the alarm and runs that alarm within a week, at 2,000 sessions a day, half of them the candidate's."""
    rows = []
    for excess in (0.01, 0.02, 0.03):
        found = [alarm_days(split(SMALL, 0.5, rate, excess), YEAR, RUNS // 4, SEED) for rate in DESK_RATES]
        cells = [f"{_median_and_ninety(each)}, {_within(each, 7)} %" for each in found]
        rows.append([f"+{100 * excess:g} pp", *cells])
    return _markdown(["excess", *(f"baseline at {100 * rate:g} %" for rate in DESK_RATES)], rows)


def minimum_table() -> str:
    """Percent of runs with an alarm by the day a step may end (its dwell time and its minimum), excess 2 pp."""
    rows = []
    for step in Canary().steps[:-1]:
        days = int(np.ceil(max(step.min_sessions / (SESSIONS * step.share), step.dwell_hours / 24)))
        found = [alarm_days(split(SESSIONS, step.share, rate, 0.02), days, RUNS, SEED) for rate in RATES]
        rows.append([f"{100 * step.share:g} %", str(days), *(_within(each, days) for each in found)])
    return _markdown(["step", "days", *(f"baseline at {100 * rate:g} %" for rate in RATES)], rows)


def late_table() -> str:
    """Days from a fault of 2 pp until the alarm, median and 90th of 100, by how long the candidate was sound before."""
    rows = []
    for sound_days in (0, 30, 180):
        cells = []
        for share in (0.05, 0.25, 0.50):
            traffic = replace(split(SESSIONS, share, 0.01, 0.02), sound_days=sound_days)
            found = alarm_days(traffic, sound_days + YEAR // 2, RUNS // 4, SEED) - sound_days
            cells.append(_median_and_ninety(found))
        rows.append([str(sound_days), *cells])
    return _markdown(["sound days before", "share 5 %", "share 25 %", "share 50 %"], rows)


def wobble_table() -> str:
    """Percent of years with an alarm while rates wobble from day to day, together or each on its own."""
    rows = []
    kinds = ((0.4, True), (0.1, False), (0.2, False), (0.4, False))
    for wobble, together in tqdm(kinds, desc="wobble", disable=None):
        cells = []
        for excess in (0.0, AT_MARGIN):
            for sessions in (SESSIONS, 40000):
                traffic = replace(split(sessions, 0.25, 0.01, excess), wobble=wobble, together=together)
                cells.append(_within(alarm_days(traffic, YEAR, RUNS // 2, SEED), YEAR))
        rows.append([f"{100 * wobble:g} %, {'together' if together else 'each alone'}", *cells])
    header = [f"{place}, {sessions:,} a day" for place in ("equal", "at the margin") for sessions in (SESSIONS, 40000)]
    return _markdown(["wobble", *header], rows)


def _within(found: Looks, days: int) -> str:
    return f"{100 * np.mean(found <= days):.1f}"


def _median_and_ninety(found: Looks) -> str:
    ordered = np.sort(found)
    return f"{ordered[len(found) // 2]} / {ordered[int(0.9 * len(found))]}"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"|{'|'.join(line)}|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Print every table, return 0."""
    print(f"Simulated, seed {SEED}, {YEAR} daily looks, {RUNS:,} runs where the rate is one of alarms.\n")
    print(f"Years with an alarm at exactly +0.5 pp, in percent, by sessions a day:\n\n{false_alarm_table()}\n")
    for excess in (0.02, 0.01):
        print(
            f"Days until an excess of {100 * excess:g} pp is found, median / 90th of 100 runs, {SESSIONS:,} sessions "
            f"a day:\n\n{power_table(excess)}\n"
        )
    print(
        f"Days until the alarm, median / 90th of 100 runs, and runs that alarm within a week, {SMALL:,} sessions a day "
        f"in all, half of them the candidate's:\n\n{detection_table()}\n"
    )
    print(f"Alarms by the end of a step, {SESSIONS:,} sessions a day, excess 2 pp, in percent:\n\n{minimum_table()}\n")
    print(f"Days from a later fault of 2 pp to the alarm, baseline at 1 %, median / 90th:\n\n{late_table()}\n")
    print(f"Years with an alarm when rates wobble, baseline at 1 %, share 25 %, in percent:\n\n{wobble_table()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
