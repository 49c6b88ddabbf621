"""What events do to a replay: a prompt release, a replica that joins cold, a quota for a tenant. Simulated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from evalsets.records import InputError
from pipelines.serving.events import ALL_AT_ONCE, FROM_5_PERCENT, Quota, Release, released, within_quota
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.request_log import LoggedRequest
from pipelines.serving.routing import Policy, make_router
from pipelines.serving.simulate import Fleet, Served, simulate
from pipelines.serving.summary import by_window, computed_tokens, token_hit_rate
from pipelines.serving.workload import make_jobs

WINDOW_S = 60.0
QUOTA_SHARE = 0.5  # of the largest tenant's own rate


class EventReplay:
    """A log and a fleet; every event comes at half of the log's time, when caches are warm."""

    def __init__(self, requests: Sequence[LoggedRequest], tokens: PromptTokens, fleet: Fleet, policy: Policy) -> None:
        self._requests = sorted(requests, key=lambda request: request.time)
        self._tokens, self._fleet, self._policy = tokens, fleet, policy
        self._duration_s = (self._requests[-1].time - self._requests[0].time).total_seconds()
        if self._duration_s < 4 * WINDOW_S:
            raise InputError(f"the log lasts {self._duration_s:.0f} s; events need {4 * WINDOW_S:.0f} s of it at least")
        self._largest, self._largest_requests = Counter(one.tenant for one in requests).most_common(1)[0]

    def rows(self) -> list[list[str]]:
        """Event, hit rate of the window behind it; above the same time without it: computed tok/s, tokens in all."""
        half_s = self._duration_s / 2
        plain = self._run(self._requests)
        at_once = self._run(released(self._requests, Release(half_s, ALL_AT_ONCE)))
        stepwise = self._run(released(self._requests, Release(half_s, FROM_5_PERCENT, self._duration_s / 10)))
        joined = self._run(self._requests, [half_s])
        found = [
            ("nothing", plain),
            ("a prompt release, all sessions at once", at_once),
            ("a prompt release, from 5 % of the sessions up", stepwise),
            ("a replica joins, its cache cold", joined),
        ]
        return [[name, *_above(plain, served, half_s)] for name, served in found]

    def quota_rows(self) -> list[list[str]]:
        """The largest tenant without and with a quota of half its rate: hit rates, its own and the others'; refused."""
        rate = QUOTA_SHARE * self._largest_requests / max(self._duration_s, 1.0)
        kept, refused = within_quota(self._requests, Quota(self._largest, rate))
        found = []
        for name, requests, lost in (("none", self._requests, 0), (f"{rate:.2f} requests/s", kept, refused)):
            served = self._run(requests)
            own = self._rate(served, lambda tenant: tenant == self._largest)
            others = self._rate(served, lambda tenant: tenant != self._largest)
            found.append([name, own, others, f"{lost:,}"])
        return found

    def _run(self, requests: Sequence[LoggedRequest], joins_s: Sequence[float] = ()) -> list[Served]:
        jobs = make_jobs(requests, self._tokens, self._fleet.block_size)
        return simulate(jobs, self._fleet, make_router(self._policy, self._fleet.replicas), joins_s)

    def _rate(self, served: Sequence[Served], wanted: Callable[[str], bool]) -> str:
        chosen = [one for one in served if wanted(one.job.tenant)]
        return f"{token_hit_rate(chosen):.3f}" if chosen else "no requests"


def _above(plain: Sequence[Served], served: Sequence[Served], from_s: float) -> list[str]:
    before, after = by_window(plain, WINDOW_S, from_s), by_window(served, WINDOW_S, from_s)
    extra = [computed_tokens(after[window]) - computed_tokens(before[window]) for window in after]
    return [f"{token_hit_rate(after[min(after)]):.3f}", f"{max(extra) / WINDOW_S:,.0f}", f"{sum(extra):,}"]
