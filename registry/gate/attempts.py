"""How often a suite was used up on a candidate: reruns until green, and recipes tried one after another. Pure.

At a true loss of exactly the margin one attempt passes with probability alpha, the best of three with about 14 %. So
every attempt is kept in a ledger, and a gate is INCONCLUSIVE beyond the number that the policy declared.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalsets.items import Suite
from registry.evidence import Attempt, EngineRecord


def attempts_at(ledger: Sequence[Attempt], candidate: EngineRecord, suite: Suite) -> int:
    """How many different sets of answers this candidate gave to this very suite, the present one included.

    The same answers had again (deterministic serving, or a rerun from kept answers) are the same attempt; other
    weights under the candidate's name are another one.
    """
    asked = candidate.shared.suites[suite]
    tried = {
        (attempt.weights_digest, attempt.responses[suite])
        for attempt in ledger
        if attempt.run == candidate.run and attempt.suites.get(suite) == asked and suite in attempt.responses
    }
    return len(tried | {(candidate.weights_digest, candidate.responses.get(suite, ""))})


def too_many(ledger: Sequence[Attempt], candidate: EngineRecord, suites: Sequence[Suite], most: int) -> str | None:
    """Why a PASS would be one too many tries, or None while every suite is within `most` attempts."""
    for suite in suites:
        if (count := attempts_at(ledger, candidate, suite)) > most:
            return (
                f"attempt {count} on {suite}, {most} declared (policy.max_attempts): a suite that is tried until it "
                f"passes shows nothing; ask new items"
            )
    return None


def chance_of_any(rate: float, attempts: int) -> float:
    """The probability that at least one of so many independent attempts passes, each with probability `rate`."""
    return float(1.0 - (1.0 - rate) ** attempts)
