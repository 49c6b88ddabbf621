"""The guard's answer in words: the reason, and a small table."""

from __future__ import annotations

from registry.release.canary import Step
from registry.release.proposal import Proposal, Totals


def why(proposal: Proposal, step: Step | None) -> str:
    """The reason for the shares, one paragraph. `step` is the canary step that the share before belongs to."""
    if proposal.finding == "alarm":
        return f"{_shown(proposal)} {_lowered(proposal)}"
    kept = f"{_not_shown(proposal)} {_would_alarm(proposal)}"
    if proposal.finding == "too_few_sessions" and step is not None:
        fewest = min(proposal.baseline, proposal.candidate, key=lambda totals: totals.sessions)
        return (
            f"Too few sessions to step up from {_percent(step.share)}: {fewest.sessions} of {fewest.variant}, "
            f"the step wants {step.min_sessions} of each variant. {kept}"
        )
    return kept


def summary(proposal: Proposal) -> str:
    """What the command prints: counts, evidence, shares, reason."""
    lines = [f"{'variant':<16}{'sessions':>10}{'complaints':>12}{'rate':>9}{'newest':>16}{'share':>18}"]
    lines += [_row(proposal, totals) for totals in (proposal.baseline, proposal.candidate)]
    evidence, margin = proposal.evidence, proposal.guardrail.margin_pp
    mean = "unknown" if evidence.mean_excess_pp is None else f"{evidence.mean_excess_pp:+.2f} pp"
    bound = "nothing yet" if evidence.at_least_pp is None else f"more than {evidence.at_least_pp:g} pp"
    lines += [
        "",
        f"windows  {proposal.windows}, the newest {proposal.window}",
        f"excess   {mean} on average; shown: {bound}; margin {margin:g} pp",
        f"wealth   {evidence.wealth:g}, at most {evidence.highest_wealth:g}; an alarm at {evidence.alarm_at:g}",
        "",
        proposal.reason,
    ]
    return "\n".join(lines)


def _row(proposal: Proposal, totals: Totals) -> str:
    rate = f"{100 * totals.complaints / totals.sessions:.2f} %" if totals.sessions else "-"
    newest = f"{totals.newest_complaints} of {totals.newest_sessions}"
    before, after = proposal.shares_before[totals.variant], proposal.shares[totals.variant]
    share = _percent(before) if before == after else f"{_percent(before)} -> {_percent(after)}"
    return f"{totals.variant:<16}{totals.sessions:>10}{totals.complaints:>12}{rate:>9}{newest:>16}{share:>18}"


def _shown(proposal: Proposal) -> str:
    evidence, margin = proposal.evidence, proposal.guardrail.margin_pp
    bound = margin if evidence.at_least_pp is None else max(margin, evidence.at_least_pp)
    average = "" if evidence.mean_excess_pp is None else f", {evidence.mean_excess_pp:+.2f} pp on average"
    return (
        f"The complaint rate of {proposal.candidate.variant} is shown to be more than {bound:g} pp above that of "
        f"{proposal.baseline.variant}{average}; {margin:g} pp are allowed. Alarm since {evidence.alarm_since}."
    )


def _lowered(proposal: Proposal) -> str:
    name = proposal.candidate.variant
    before, after = proposal.shares_before[name], proposal.shares[name]
    if not proposal.lowered:
        return f"{name} has no sessions to lose."
    severe = proposal.guardrail.severe_pp
    if after > 0:
        because = "the step below"
    elif (proposal.evidence.at_least_pp or 0) >= severe:
        because = f"the excess is shown to be twice the margin ({severe:g} pp) or more"
    else:
        because = "there is no step below"
    return f"Its share goes from {_percent(before)} to {_percent(after)}: {because}."


def _not_shown(proposal: Proposal) -> str:
    evidence, name, margin = proposal.evidence, proposal.candidate.variant, proposal.guardrail.margin_pp
    average = "no window has sessions of both"
    if evidence.mean_excess_pp is not None:
        average = f"{evidence.mean_excess_pp:+.2f} pp on average, wealth {evidence.wealth:g} of {evidence.alarm_at:g}"
    return (
        f"{name} stays at {_percent(proposal.shares[name])}: a complaint rate more than {margin:g} pp "
        f"above that of {proposal.baseline.variant} is not shown ({average})."
    )


def _would_alarm(proposal: Proposal) -> str:
    newest, number = proposal.candidate, proposal.alarming_complaints
    if not newest.newest_sessions:
        return f"It has no sessions in the newest window, {proposal.window}."
    seen = f"{newest.newest_sessions} sessions of {proposal.window}"
    if number is None:
        return f"Even a complaint on each of its {seen} would not have shown it."
    return f"{number} complaints on its {seen} would have shown it, {newest.newest_complaints} were counted."


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"
