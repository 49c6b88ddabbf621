"""The noise floor: what the baseline, asked again in another order, says about a gate's own verdict.

The rule, for a non-inferiority gate. Let the noise be the discordant items (losses and gains) of baseline-again.

1. If baseline-again FAILs the gate, the gate is INCONCLUSIVE.
2. A PASS also needs baseline-again to PASS: a measurement that cannot show the baseline equal to itself shows
   nothing of another variant.
3. If the noise is large for the gate and near the candidate's disagreement, the gate is INCONCLUSIVE. Large: were
   every noisy item a loss, the gate would not PASS. Near: the candidate's discordant items are not significantly
   more than the noisy ones (exact one-sided binomial, 5 %). Noise below that size cannot turn the verdict, and
   without this condition a perfect candidate on a silent server would count as "near".
"""

from __future__ import annotations

from registry.evidence import PairedTable
from registry.gate.decision import Outcome
from registry.gate.distance import most_that_pass
from registry.gate.mcnemar import more_p
from registry.gate.outcome import counted, outcome, printed
from registry.gate.policy import NonInferiority

NEAR_ALPHA = 0.05


def blamed_on_noise(own: Outcome, table: PairedTable, again: PairedTable, gate: NonInferiority) -> str | None:
    """Why a gate whose own verdict is `own` cannot be concluded for noise, or None where it can."""
    noise = again.losses + again.gains
    seen = (
        f"{counted(again.losses, 'loss', 'losses')} and {counted(again.gains, 'gain', 'gains')} of {printed(again.n)}"
    )
    repeated = outcome(again, gate)
    if repeated == "FAIL" or (own == "PASS" and repeated != "PASS"):
        return f"the baseline asked again does not pass this gate either ({seen})"
    if _is_large(again, gate) and more_p(table.losses + table.gains, noise) > NEAR_ALPHA:
        return (
            f"the baseline asked again disagrees with itself on {printed(noise)} items, the candidate on "
            f"{printed(table.losses + table.gains)}: nothing can be blamed on quantization"
        )
    return None


def _is_large(again: PairedTable, gate: NonInferiority) -> bool:
    free = most_that_pass(again.model_copy(update={"losses": 0, "gains": 0}), gate.margin_pp / 100, gate.alpha)
    return free is None or again.losses + again.gains > free
