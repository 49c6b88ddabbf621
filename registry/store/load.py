"""Reading a decision and its evidence from the folder of a run, with the chain between them checked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from evalsets.records import InputError, file_sha256, read_record, read_rows
from evalsets.responses import Response
from judges.metrics import Metrics
from judges.verdicts import Verdict
from quantize.manifest import Manifest, load_manifest
from quantize.recipe import RecipeError
from registry.evidence import Comparison, EngineRecord
from registry.gate.decision import Decision
from registry.store.bundle import Answer, Bundle
from registry.store.chain import check_chain
from registry.store.serving import read_serving, serving_path

DECISION = "decision.json"
REPORTS = ("report.md", "report.html")


def load_bundle(root: Path) -> Bundle:
    """The decision under `root` (`runs/<profile>/`) with every record that it was made from, and the load profiles.

    Raises `InputError` naming the file that is missing, that cannot be read, or that does not match (`check_chain`,
    `check_serving`).
    """
    decision = read_record(root / DECISION, Decision)
    comparisons = {run: read_record(root / path, Comparison) for run, path in _records("comparisons", decision.inputs)}
    named = {*decision.inputs, *(path for comparison in comparisons.values() for path in comparison.inputs)}
    engines = {run: read_record(root / path, EngineRecord) for run, path in _records("engine", named)}
    manifests = {
        PurePosixPath(path).parent.name: _read_manifest(root / path)
        for path in sorted(decision.inputs)
        if path.startswith("checkpoints/")
    }
    responses = {f"responses/{run}/{suite}.jsonl" for run, engine in engines.items() for suite in engine.responses}
    files = {path: file_sha256(root / path) for path in named | responses if (root / path).is_file()}
    check_chain(decision, comparisons, engines, manifests, files)
    serving = read_serving(root, decision)
    measured = {run: f"metrics/{run}.json" for run in engines}
    records = [path for path in sorted(named) if path.endswith(".json")]
    beside = [*map(serving_path, serving), *(name for name in REPORTS if (root / name).is_file())]
    answers = _answers(root, [path for path in sorted(named) if path.startswith("verdicts/")])
    return Bundle(
        decision=decision,
        comparisons=comparisons,
        engines=engines,
        manifests=manifests,
        metrics={run: read_record(root / path, Metrics) for run, path in measured.items()},
        judge_version=_judge_version(root, answers),
        artifacts={path: root / path for path in [DECISION, *records, *measured.values(), *beside]},
        answers=answers,
        serving=serving,
    )


def _records(folder: str, named: Iterable[str]) -> list[tuple[str, str]]:
    """(run, path) of every named record of a folder, by name."""
    return [(PurePosixPath(path).stem, path) for path in sorted(named) if path.startswith(f"{folder}/")]


def _read_manifest(path: Path) -> Manifest:
    try:
        return load_manifest(path)
    except RecipeError as error:
        raise InputError(str(error)) from None


def _answers(root: Path, verdicts: list[str]) -> dict[str, list[Answer]]:
    """Per run every verdict with the text it is about, from `verdicts/RUN/SUITE.jsonl` and the responses beside it."""
    found: dict[str, list[Answer]] = {}
    for path in verdicts:
        run, name = PurePosixPath(path).parts[1:]
        responses = read_rows(root / "responses" / run / name, Response)
        raw = {(row.item_id, row.run): row.raw for row in responses}
        rows = read_rows(root / path, Verdict)
        found.setdefault(run, []).extend(Answer(row, raw.get((row.item_id, row.run), "")) for row in rows)
    return found


def _judge_version(root: Path, answers: dict[str, list[Answer]]) -> str:
    versions = {answer.verdict.judge_version for rows in answers.values() for answer in rows}
    if len(versions) > 1:
        raise InputError(f"{root / 'verdicts'}: judged by versions {', '.join(sorted(versions))}; run judge again")
    return versions.pop() if versions else "none"
