"""How answers fail in form, and how long they are: per run, from the metrics."""

from __future__ import annotations

from evalsets.items import Suite
from judges.metrics import Disagreement, SuiteMetrics
from pipelines.reporting.material import Material
from pipelines.reporting.text import inline, joined, percent, table


def fragility(material: Material) -> str:
    """Failure rates of both verdicts per run and suite, what the engine's parser did, and the headline families."""
    measured = by_run(material)
    rates = [
        [inline(run), suite, *failures(found), *disagreement(found.parser_disagreement)]
        for run, suite, found in measured
    ]
    families = [[inline(run), suite, *map(str, found.families.values())] for run, suite, found in measured]
    names = list(measured[0][2].families) if measured else []
    return joined(
        "## Format fragility",
        "Shares of the judged answers. *Strict* is what a typed client accepts without help, *tolerant* adds lossless "
        "recoveries; the gap between the two is the format's own share. *Parser lost*: the raw text is right and what "
        "the engine's parser made of it is not; *parser passed*: the reverse.",
        table(["run", "suite", "strict failures", "tolerant failures", "gap", "parser lost", "parser passed"], rates),
        "Wrong answers (strict) by headline family:",
        table(["run", "suite", *map(inline, names)], families),
    )


def length(material: Material) -> str:
    """Mean completion tokens per run and suite, and how that compares with the baseline's."""
    reference = material.metrics[material.decision.baseline].suites
    rows = [[inline(run), suite, *lengths(found, reference[suite])] for run, suite, found in by_run(material)]
    return joined("## Completion length", table(["run", "suite", "mean tokens", "against the baseline"], rows))


def lengths(found: SuiteMetrics, reference: SuiteMetrics) -> list[str]:
    """Mean completion tokens, and by how much more than the reference's that is; empty where nothing was judged."""
    mean, base = found.mean_completion_tokens, reference.mean_completion_tokens
    change = f"{100 * (mean / base - 1):+.1f} %" if mean is not None and base else ""
    return ["" if mean is None else f"{mean:.1f}", change]


def by_run(material: Material) -> list[tuple[str, Suite, SuiteMetrics]]:
    """(run, suite, metrics) in the profile's order of runs."""
    return [(run, suite, found) for run, metrics in material.metrics.items() for suite, found in metrics.suites.items()]


def failures(found: SuiteMetrics) -> list[str]:
    """Shares of the judged answers that fail the strict verdict, the tolerant one, and only the strict one."""
    strict, tolerant = found.judged - found.strict_ok, found.judged - found.tolerant_ok
    return [
        percent(strict, found.judged),
        percent(tolerant, found.judged),
        percent(strict - tolerant, found.judged),
    ]


def disagreement(found: Disagreement | None) -> list[str]:
    """Shares of the judged answers that the engine's parser lost, and that it passed; or that there is no parser."""
    if found is None:
        return ["no parser", "no parser"]
    return [percent(found.parser_lost, found.judged), percent(found.parser_passed, found.judged)]
