"""The canary plan of a release, and which sessions it sends to the candidate.

Sessions are assigned, never requests: a session that bounces between two servers finds its prefix cached on neither.
"""

from __future__ import annotations

import hashlib
import itertools
from typing import Annotated, Literal

from pydantic import Field, model_validator

from evalsets.records import InputError, Record

FIRST_SHARE = 0.05  # the largest share of sessions that a plan may start with
HASH_BITS = 53  # as many as a float holds exactly, so that no bucket rounds up to 1.0


class Step(Record):
    """One step: the candidate's share of sessions (above 0, at most 1), and what must be behind it before the next.

    `dwell_hours` is the least time at this share; `min_sessions` the least number of sessions counted for the
    candidate, and for the baseline while it has traffic. At the last step both hold before the baseline is shut down.
    """

    share: Annotated[float, Field(gt=0, le=1)]
    dwell_hours: Annotated[float, Field(gt=0)]
    min_sessions: Annotated[int, Field(ge=1)] = 3000


class Guardrail(Record):
    """When the candidate is worse: a complaint rate more than `margin_pp` percentage points above the baseline's.

    `alpha` is the chance, over all looks together, to say so of a candidate that is worse by exactly the margin.
    """

    margin_pp: Annotated[float, Field(gt=0, le=5)] = 0.5
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05

    @property
    def severe_pp(self) -> float:
        """Twice the margin: a candidate shown to be that much worse, or more, loses all its sessions at once."""
        return 2 * self.margin_pp


class Canary(Record):
    """How a candidate's traffic grows. Shares rise from at most 0.05 to 1.0.

    `salt` decides which sessions come first: keep it while one candidate grows, change it for the next, or the same
    users meet every canary. `warm_up` says what is replayed before the first session; `kv_headroom` is the share of
    the candidate's KV cache (0 to 1) that must be free before a step up.
    """

    salt: Annotated[str, Field(min_length=1)] = "canary"
    steps: Annotated[tuple[Step, ...], Field(min_length=2)] = (
        Step(share=0.05, dwell_hours=24),
        Step(share=0.10, dwell_hours=24),
        Step(share=0.25, dwell_hours=48),
        Step(share=0.50, dwell_hours=48),
        Step(share=1.00, dwell_hours=168),
    )
    warm_up: Annotated[str, Field(min_length=1)] = (
        "replay the scene's prompt prefix and recent requests until the prefix cache serves them; drop the answers"
    )
    kv_headroom: Annotated[float, Field(ge=0, lt=1)] = 0.2
    guardrail: Guardrail = Guardrail()

    @model_validator(mode="after")
    def _shares_rise(self) -> Canary:
        shares = [step.share for step in self.steps]
        if any(later <= earlier for earlier, later in itertools.pairwise(shares)):
            raise ValueError(f"steps: shares {shares} must rise from step to step")
        if shares[0] > FIRST_SHARE:
            raise ValueError(f"steps.0.share: {shares[0]:g} is above {FIRST_SHARE:g}; start with at most that")
        if shares[-1] != 1:
            raise ValueError(
                f"steps.{len(shares) - 1}.share: {shares[-1]:g} is not 1; the last step takes all sessions"
            )
        if "\0" in self.salt:
            raise ValueError("salt: holds a zero byte, which parts it from the session id; use another")
        return self


def share_below(canary: Canary, share: float) -> float:
    """The share (0 to 1) one step down from `share`: of the highest step below it, or 0 at or below the first."""
    return max((step.share for step in canary.steps if step.share < share), default=0.0)


def step_at(canary: Canary, share: float) -> Step | None:
    """The step that a share belongs to: the highest that is not above it. None below the first."""
    return next((step for step in reversed(canary.steps) if step.share <= share), None)


def bucket(session_id: str, salt: str) -> float:
    """A number in [0, 1) that depends on nothing but the session and the salt, uniform over sessions.

    It is the first 53 bits of SHA-256 over salt, a zero byte and session id in UTF-8, divided by 2**53, so that any
    router can compute the same. Raises `InputError` on an empty id: all sessions without one would share a bucket.
    """
    if not session_id:
        raise InputError("a session without an id has no variant of its own; give each session an id")
    if "\0" in salt:
        raise InputError(f"salt {salt!r} holds a zero byte, which parts it from the session id; use another")
    hashed = hashlib.sha256(f"{salt}\0{session_id}".encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(hashed[:8], "big") >> (64 - HASH_BITS)) / (1 << HASH_BITS)


def variant_of(session_id: str, share: float, salt: str) -> Literal["candidate", "baseline"]:
    """Who serves the session while the candidate has this share (0 to 1) of sessions.

    The same for every request of a session. A larger share adds sessions to the candidate and takes none away.
    Raises `InputError` where the share is not from 0 to 1, and as `bucket` does.
    """
    if not 0 <= share <= 1:
        raise InputError(f"share {share!r} is not from 0 to 1; it is the candidate's share of sessions")
    return "candidate" if bucket(session_id, salt) < share else "baseline"
