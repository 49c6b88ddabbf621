"""What the run of one measured variant holds, named alike for every variant so that they compare side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from evalsets.records import digest
from judges.metrics import SuiteMetrics
from registry.store import tables
from registry.store.bundle import Bundle
from registry.store.content import EVALUATION_TABLE, Content, key
from registry.store.describe import verdict_word
from registry.store.load_numbers import load_metrics, load_params
from registry.store.markup import markdown, plain


def measurement(run: str, bundle: Bundle) -> Content:
    """The content for `run` (a variant's name, or the baseline's second run).

    Metrics begin with the suite: `qa/accuracy_strict` (a share), `qa/losses`, `qa/errors/value_wrong` (counts). An
    error class that any run of the decision shows is there in each, with 0 where it did not occur. A variant with a
    load profile has `load/...` too (`load_metrics`).
    """
    load = bundle.loads.get(run)
    metrics = {**_rates(run, bundle), **_paired(run, bundle), **_classes(run, bundle)}
    metrics |= load_metrics(load) if load else {}
    compared = run in bundle.comparisons
    return Content(
        name=f"{run} {digest(bundle.decision)[:12]}",
        note=f"What {markdown(run)} answered, measured for one decision. The decision is the parent run.",
        params={key(name): plain(value) for name, value in _params(run, bundle).items()},
        metrics={key(name): value for name, value in metrics.items()},
        tables={EVALUATION_TABLE: tables.answers(bundle.answers.get(run, []))}
        | ({"losses.json": tables.losses(run, bundle)} if compared else {}),
    )


def _params(run: str, bundle: Bundle) -> dict[str, str]:
    decision, engine = bundle.decision, bundle.engines[run]
    manifest, execution, load = bundle.manifests[engine.variant], engine.execution, bundle.loads.get(run)
    verdicts = {
        f"verdict/{scene.scene}": verdict_word(run, scene, decision.baseline)
        for scene in decision.scenes
        if run in decision.weights
    }
    return {
        "variant": engine.variant,
        **verdicts,
        "recipe": manifest.recipe,
        "scheme": manifest.scheme,
        "device": execution.device,
        "kernel": execution.linear_kernel,
        "engine": f"{execution.engine} {execution.engine_version}",
        "numerics": execution.note or f"w{execution.weight_bits}a{execution.activation_bits}",
        "weights_digest": engine.weights_digest,
        **(load_params(load) if load else {}),
    }


def _rates(run: str, bundle: Bundle) -> dict[str, float]:
    found: dict[str, float | None] = {}
    for suite, numbers in _suites(run, bundle):
        found[f"{suite}/accuracy_strict"] = numbers.strict_rate
        found[f"{suite}/accuracy_tolerant"] = numbers.tolerant_rate
        found[f"{suite}/items"] = numbers.n
        found[f"{suite}/unjudged"] = numbers.n - numbers.judged
        found[f"{suite}/completion_tokens"] = numbers.mean_completion_tokens
    return {name: value for name, value in found.items() if value is not None}


def _paired(run: str, bundle: Bundle) -> dict[str, float]:
    """Losses and gains against the baseline (strict); none for the baseline itself."""
    found: dict[str, float] = {}
    compared = bundle.comparisons.get(run)
    for suite, comparison in compared.suites.items() if compared else ():
        found[f"{suite}/losses"] = comparison.strict.losses
        found[f"{suite}/gains"] = comparison.strict.gains
        found[f"{suite}/identical"] = comparison.identical
    return found


def _classes(run: str, bundle: Bundle) -> dict[str, float]:
    """Counts per error label and headline family."""
    found: dict[str, float] = {}
    for other in bundle.metrics:
        for suite, numbers in _suites(other, bundle):
            found |= {f"{suite}/errors/{label}": 0 for label in numbers.primary}
            found |= {f"{suite}/families/{family}": 0 for family in numbers.families}
    for suite, numbers in _suites(run, bundle):
        found |= {f"{suite}/errors/{label}": count for label, count in numbers.primary.items()}
        found |= {f"{suite}/families/{family}": count for family, count in numbers.families.items()}
    return found


def _suites(run: str, bundle: Bundle) -> Iterable[tuple[str, SuiteMetrics]]:
    return bundle.metrics[run].suites.items()
