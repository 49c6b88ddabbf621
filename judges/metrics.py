"""Counts and rates over the verdicts of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from evalsets.items import Item, Suite
from evalsets.records import InputError, Record
from judges.taxonomy import family, rank
from judges.verdicts import Verdict


class Disagreement(Record):
    """How often the engine's own parser and the raw text tell different stories, strictly judged.

    `parser_lost`: the raw text is right and what the parser made of it is not. `parser_passed`: the raw text is wrong
    and the parser made something right of it. Both over the `judged` answers whose parse was judged.
    """

    judged: int
    parser_lost: int
    parser_passed: int


class Slice(Record):
    """Counts over a part of the items."""

    n: int
    judged: int
    strict_ok: int
    tolerant_ok: int


class SuiteMetrics(Record):
    """One suite. Rates are shares (0 to 1) of the `judged` answers, None where none was judged.

    `primary` counts the primary labels of the answers that are not strictly right, in the order of precedence;
    `families` counts those of them in a headline family. `mean_completion_tokens` is over the judged answers.
    `parser_disagreement` is None where no engine parser reads the dialect.
    """

    n: int
    judged: int
    strict_ok: int
    tolerant_ok: int
    strict_rate: float | None
    tolerant_rate: float | None
    primary: dict[str, int]
    families: dict[str, int]
    parser_disagreement: Disagreement | None
    mean_completion_tokens: float | None
    domains: dict[str, Slice]
    tags: dict[str, Slice]


class Metrics(Record):
    """The metrics of one run, by suite; a suite without verdicts is left out."""

    suites: dict[Suite, SuiteMetrics]


def summarise(verdicts: Sequence[Verdict], items: Mapping[str, Item]) -> Metrics:
    """The metrics of the verdicts of one run; `items` by id give domains and tags.

    Raises `InputError` for a verdict on an item that is not there.
    """
    unknown = sorted({verdict.item_id for verdict in verdicts} - set(items))
    if unknown:
        raise InputError(f"verdicts on items that the suites lack: {', '.join(unknown)}; judge again with these suites")
    suites: tuple[Suite, ...] = ("qa", "tools")
    by_suite = {suite: [verdict for verdict in verdicts if verdict.suite == suite] for suite in suites}
    return Metrics(suites={suite: _suite(rows, items) for suite, rows in by_suite.items() if rows})


def _suite(verdicts: Sequence[Verdict], items: Mapping[str, Item]) -> SuiteMetrics:
    judged = [verdict for verdict in verdicts if verdict.status == "judged"]
    whole = _slice(verdicts)
    labels = Counter(verdict.primary for verdict in judged if verdict.primary is not None)
    domains = {items[verdict.item_id].domain for verdict in verdicts}
    tags = {tag for verdict in verdicts for tag in items[verdict.item_id].tags}
    return SuiteMetrics(
        n=whole.n,
        judged=whole.judged,
        strict_ok=whole.strict_ok,
        tolerant_ok=whole.tolerant_ok,
        strict_rate=_share(whole.strict_ok, whole.judged),
        tolerant_rate=_share(whole.tolerant_ok, whole.judged),
        primary={label: labels[label] for label in sorted(labels, key=lambda name: (rank(name), name))},
        families=_families(labels),
        parser_disagreement=_disagreement(judged),
        mean_completion_tokens=_share(sum(verdict.completion_tokens for verdict in judged), whole.judged),
        domains={
            domain: _slice([verdict for verdict in verdicts if items[verdict.item_id].domain == domain])
            for domain in sorted(domains)
        },
        tags={tag: _slice([v for v in verdicts if tag in items[v.item_id].tags]) for tag in sorted(tags)},
    )


def _slice(verdicts: Sequence[Verdict]) -> Slice:
    judged = [verdict for verdict in verdicts if verdict.status == "judged"]
    return Slice(
        n=len(verdicts),
        judged=len(judged),
        strict_ok=sum(verdict.strict_ok for verdict in judged),
        tolerant_ok=sum(verdict.tolerant_ok for verdict in judged),
    )


def _families(labels: Counter[str]) -> dict[str, int]:
    counts = {"numbers": 0, "identifiers": 0, "keys_and_enums": 0, "json_syntax": 0}
    for label, count in labels.items():
        name = family(label)
        if name is not None:
            counts[name] += count
    return counts


def _disagreement(judged: Sequence[Verdict]) -> Disagreement | None:
    parsed = [verdict for verdict in judged if verdict.engine.status == "judged"]
    if not parsed:
        return None
    return Disagreement(
        judged=len(parsed),
        parser_lost=sum(verdict.strict_ok and not verdict.engine.ok for verdict in parsed),
        parser_passed=sum(not verdict.strict_ok and bool(verdict.engine.ok) for verdict in parsed),
    )


def _share(count: int, whole: int) -> float | None:
    return count / whole if whole else None
