"""The walk back from a decision to the answers, each step recomputed and held against the bytes that lie there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalsets.items import Item, QaItem, Suite, ToolItem
from evalsets.lint.folder import read_folder
from evalsets.lint.index import INDEX, index_of, index_problems, read_index
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError, digest, file_sha256, read_record, read_rows, record_bytes, rows_bytes
from evalsets.responses import Response
from judges.metrics import summarise
from judges.suite import Setting, judge_suite
from judges.verdicts import Verdict
from registry.evidence import Attempt, EngineRecord
from registry.gate.compare import Asked
from registry.gate.decision import Decision
from registry.gate.from_files import ATTEMPTS, compare_files, decide_files
from registry.gate.policy import Policy
from registry.gate.weakening import weaker
from registry.store.load import load_bundle
from registry.verify.settings import Asking, Settings

Say = Callable[[str], None]
Items = Mapping[Suite, Sequence[QaItem | ToolItem]]


@dataclass(frozen=True)
class Trusted:
    """What the verifier brings: the policy, the folder that suite paths start from, the ledger known before.

    `policy` None: the evidence's own. `asked` None: what was asked, and how it is judged, is as the evidence says.
    `attempts` None: nothing is known of earlier tries.
    """

    data: Path
    policy: Policy | None = None
    asked: Asking | None = None
    attempts: Sequence[Attempt] | None = None


def verify(root: Path, settings: Settings, trusted: Trusted, say: Say) -> Decision:
    """Recompute everything under `root` and return the decision, which is the one that lies there byte for byte.

    `say` hears what is being done. Raises `InputError` naming the file, and where it can the item, that does not match.
    """
    _check_policy(root, settings, trusted)
    items = _suites(root, settings, trusted.data)
    setting = Setting(load_toolsets(trusted.data / settings.toolsets), settings.dialect, settings.engine_reads)
    for run in settings.runs:
        say(f"judging {run}")
        _judge(root, run, settings, items, setting)
    asked = {suite: Asked.of(rows) for suite, rows in items.items()}
    baseline = settings.policy.baseline
    for run in settings.runs:
        if run != baseline:
            say(f"comparing {run} with {baseline}")
            made = record_bytes(compare_files(root, baseline, run, asked))
            _same(root / "comparisons" / f"{run}.json", made)
    say("deciding")
    sizes = {suite: len(rows) for suite, rows in items.items()}
    decision = decide_files(root, settings.policy, settings.variants, sizes)
    _same(root / "decision.json", record_bytes(decision))
    load_bundle(root)
    _check_attempts(root, settings, trusted)
    return decision


def _check_policy(root: Path, settings: Settings, trusted: Trusted) -> None:
    decided = read_record(root / "decision.json", Decision).policy_sha256
    if trusted.policy is not None and trusted.policy != settings.policy:
        less = "; ".join(weaker(trusted.policy, settings.policy)) or "it asks as much, in other words"
        raise InputError(f"{root}: decided under another policy than the one given: {less}")
    if trusted.asked is not None and (foreign := trusted.asked.foreign(settings)):
        raise InputError(f"{root / 'params.yaml'}: {', '.join(foreign)}: not as in the profile that you trust")
    if digest(settings.policy) != decided:
        raise InputError(f"{root / 'params.yaml'}: its policy is not the one that decision.json was made under")


def _suites(root: Path, settings: Settings, data: Path) -> dict[Suite, Sequence[QaItem | ToolItem]]:
    """The items that were asked. Raises `InputError` where a run was asked another file."""
    items: dict[Suite, Sequence[QaItem | ToolItem]] = {}
    for suite, source in settings.suites.items():
        path = data / source.path
        rows = load_suite(path, suite, source.take)
        for run in settings.runs:
            engine = read_record(root / "engine" / f"{run}.json", EngineRecord)
            asked = engine.shared.suites.get(suite)
            if asked is None or asked.file_sha256 != file_sha256(path):
                raise InputError(f"{path}: not the suite that {run} was asked{_changed(path)}")
            if asked.ids_sha256 != digest([row.id for row in rows]):
                raise InputError(f"{path}: {run} was asked other items of it than params.yaml takes")
            if (engine.dialect, engine.tool_parser is not None) != (settings.dialect, settings.engine_reads):
                raise InputError(f"{root / 'params.yaml'}: not the dialect or parser that {run} was served with")
            if engine.shared.toolsets_sha256 != file_sha256(data / settings.toolsets):
                raise InputError(f"{data / settings.toolsets}: not the toolsets that {run} was given")
        items[suite] = rows
    return items


def _changed(path: Path) -> str:
    """What the folder's index says has changed, as far as it has one."""
    index = path.parent / INDEX
    if not index.is_file():
        return ""
    folder = read_folder(path.parent)
    found = [str(problem) for problem in index_problems(folder, read_index(index), index_of(folder))]
    return f": {'; '.join(found[:5])}" if found else ""


def _judge(root: Path, run: str, settings: Settings, items: Items, setting: Setting) -> None:
    engine = read_record(root / "engine" / f"{run}.json", EngineRecord)
    verdicts: list[Verdict] = []
    for suite, rows in items.items():
        path = root / "responses" / run / f"{suite}.jsonl"
        if not path.is_file() or file_sha256(path) != engine.responses.get(suite):
            raise InputError(f"{path}: not the answers that engine/{run}.json names")
        responses = read_rows(path, Response)
        made = judge_suite(rows, settings.suites[suite].runs, responses, setting, str(path))
        _same(root / "verdicts" / run / f"{suite}.jsonl", rows_bytes(made))
        verdicts += made
    by_id: dict[str, Item] = {item.id: item for rows in items.values() for item in rows}
    _same(root / "metrics" / f"{run}.json", record_bytes(summarise(verdicts, by_id)))


def _check_attempts(root: Path, settings: Settings, trusted: Trusted) -> None:
    path = root / ATTEMPTS
    ledger = read_rows(path, Attempt)
    for run in settings.runs:
        engine = read_record(root / "engine" / f"{run}.json", EngineRecord)
        if not any(attempt.run == run and attempt.responses == engine.responses for attempt in ledger):
            raise InputError(f"{path}: the answers of {run} are not in the ledger; generate enters them")
    if trusted.attempts is not None and ledger[: len(trusted.attempts)] != list(trusted.attempts):
        raise InputError(f"{path}: does not begin with the ledger known before; attempts are only ever added")


def _same(path: Path, made: bytes) -> None:
    """Hold the file against what was recomputed. Raises `InputError` naming file and line."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    found = path.read_bytes()
    if found != made:
        old, new = found.splitlines(), made.splitlines()
        line = next(
            (n for n, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b), min(len(old), len(new)) + 1
        )
        raise InputError(f"{path}:{line}: not what its inputs give")
