"""The declared make-up of a folder of suites (`suites.yaml`), and what of it does not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, ValidationError

from evalsets.items import Item, Toolset
from evalsets.lint.features import facts
from evalsets.lint.folder import CALIBRATION, DEV, QA, TOOLS, Folder, Problem
from evalsets.records import InputError, Record, explain

SUITES = "suites.yaml"
Fact = Literal["domain", "lang", "kind", "tag", "must_pass", "feature"]
Share = Annotated[tuple[float, float], Field(description="least and most, 0 to 1")]


class Makeup(Record):
    """What a suite consists of: active items, clusters (least number, largest size), and counts or shares per fact."""

    items: int
    clusters_at_least: int = 1
    cluster_at_most: int = 10_000
    exactly: dict[Fact, dict[str, int]] = {}
    at_least: dict[Fact, dict[str, int]] = {}
    share: dict[Fact, dict[str, Share]] = {}


class Suites(Record):
    """The content of `suites.yaml`. `version` rises with every item that is added, retired or replaced.

    `index_sha256` pins the index, and through it every row. `suites` maps a suite's file to its make-up.
    """

    version: Annotated[int, Field(ge=1)]
    index_sha256: str
    calibration_rows: int
    toolset_tools: tuple[int, int]
    suites: dict[Literal["qa.jsonl", "tool_calls.jsonl", "dev/qa.jsonl", "dev/tool_calls.jsonl"], Makeup]


def read_suites(path: Path) -> Suites:
    """Read `suites.yaml`. Raises `InputError` naming every wrong key."""
    try:
        return Suites.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}") from None


def makeup_problems(folder: Folder, declared: Suites) -> Iterator[Problem]:
    """What the folder's rows do not keep of the declared make-up."""
    by_file: dict[str, Sequence[Item]] = {QA: folder.qa, TOOLS: folder.tools}
    by_file |= {f"{DEV}/{QA}": folder.dev_qa, f"{DEV}/{TOOLS}": folder.dev_tools}
    for file, makeup in declared.suites.items():
        active = [item for item in by_file[file] if item.status == "active"]
        yield from (
            Problem(folder.path / file, 0, f"{text}; {SUITES} declares otherwise")
            for text in unkept(active, makeup, folder.offered())
        )
    if len(folder.calibration) != declared.calibration_rows:
        text = f"{len(folder.calibration)} rows; {SUITES} declares {declared.calibration_rows}"
        yield Problem(folder.path / CALIBRATION, 0, text)
    least, most = declared.toolset_tools
    for toolset in folder.toolsets:
        if not least <= len(toolset.tools) <= most:
            text = f"{toolset.name}: {len(toolset.tools)} tools, {least} to {most} are declared"
            yield folder.problem("toolsets.json", toolset.name, text)


def unkept(items: Sequence[Item], makeup: Makeup, offered: Mapping[str, Toolset]) -> Iterator[str]:
    """Each clause of a make-up that active `items` do not keep, with the count found."""
    if len(items) != makeup.items:
        yield f"{len(items)} active items instead of {makeup.items}"
    clusters = Counter(item.cluster for item in items)
    if len(clusters) < makeup.clusters_at_least:
        yield f"{len(clusters)} clusters, at least {makeup.clusters_at_least} wanted"
    for cluster, size in clusters.items():
        if size > makeup.cluster_at_most:
            yield f"cluster {cluster} has {size} items, at most {makeup.cluster_at_most} wanted"
    yield from _unkept_counts(count_facts(items, offered), makeup, len(items))


def _unkept_counts(counts: Mapping[str, Counter[str]], makeup: Makeup, items: int) -> Iterator[str]:
    for fact, wanted in makeup.exactly.items():
        for value, number in wanted.items():
            if counts[fact][value] != number:
                yield f"{fact} {value}: {counts[fact][value]} items instead of {number}"
    for fact, wanted in makeup.at_least.items():
        for value, number in wanted.items():
            if counts[fact][value] < number:
                yield f"{fact} {value}: {counts[fact][value]} items, at least {number} wanted"
    for fact, shares in makeup.share.items():
        for value, (least, most) in shares.items():
            share = counts[fact][value] / max(1, items)
            if not least <= share <= most:
                yield f"{fact} {value}: {share:.1%} of the items, {least:.0%} to {most:.0%} wanted"


def count_facts(items: Sequence[Item], offered: Mapping[str, Toolset]) -> dict[str, Counter[str]]:
    """How many items have each value of each fact."""
    counts: dict[str, Counter[str]] = {}
    for item in items:
        for fact, values in facts(item, offered).items():
            counts.setdefault(fact, Counter()).update(values)
    return counts or {fact: Counter() for fact in ("domain", "lang", "kind", "tag", "must_pass", "feature")}
