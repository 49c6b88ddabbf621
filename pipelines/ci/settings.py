"""The settings of a published run against those of the base branch's profile. Pure."""

from __future__ import annotations

from pipelines.profiles import Profile


def foreign_settings(trusted: Profile, found: Profile) -> list[str]:
    """The keys that say what was asked and how it is judged, as far as the run had other values; in a fixed order.

    The policy is not among them, since `registry verify` says more about it. What was measured, the model, its recipes
    and the engine that served it, may be new; it stands in the report.
    """
    pairs = {
        "profile": (trusted.profile, found.profile),
        "suites": (trusted.suites, found.suites),
        "toolsets": (trusted.toolsets, found.toolsets),
        "sampling": (trusted.sampling, found.sampling),
        "variants": (list(trusted.variants), list(found.variants)),
        "runs": (trusted.runs, found.runs),
        "compared": (trusted.compared, found.compared),
        "engine.dialect": (trusted.engine.dialect, found.engine.dialect),
        "engine.tool_parser": (trusted.engine.tool_parser, found.engine.tool_parser),
    }
    return [key for key, (wanted, given) in pairs.items() if wanted != given]
