"""The decision as a few lines of plain text."""

from __future__ import annotations

from registry.gate.decision import Decision

MEANING = {
    0: "every required candidate passes",
    1: "a required candidate FAILs",
    2: "something could not be judged",
    3: "a required candidate is INCONCLUSIVE",
}


def summary(decision: Decision) -> str:
    """Per scene the variant chosen and each candidate's reason and gates, then what is broken and the exit code."""
    lines = [f"profile {decision.profile}, baseline {decision.baseline}"]
    for scene in decision.scenes:
        lines += ["", f"scene {scene.scene}: {scene.chosen} ({scene.reason}); required: {scene.require}"]
        for verdict in scene.candidates:
            lines.append(f"  {verdict.outcome:<12} {verdict.candidate}")
            lines += [f"    {gate.test}: {gate.reason}" for gate in verdict.gates]
            if verdict.reason not in {gate.reason for gate in verdict.gates}:
                lines.append(f"    {verdict.reason}")
    if decision.broken:
        lines += ["", "broken:", *(f"  {problem}" for problem in decision.broken)]
    return "\n".join([*lines, "", f"exit code {decision.exit_code}: {MEANING[decision.exit_code]}"])
