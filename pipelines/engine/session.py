"""One run of the suites on one engine: reach it, check what it serves, ask what is missing, keep the record."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from evalsets.items import Suite
from evalsets.records import InputError, read_record, read_rows, write_record
from evalsets.responses import Response
from pipelines.engine.disk import writing
from pipelines.engine.drive import Drive, ask_all
from pipelines.engine.endpoint import Endpoint, drive_of, reached
from pipelines.engine.engine_record import engine_record, execution_of
from pipelines.engine.inspection import asking, first_tokens, inspect
from pipelines.engine.journal import Journal
from pipelines.engine.prepare import Session
from pipelines.engine.probes import PROBES, TOLERANCE, Probe, ProbeRecord, ask_probes, differences, reference_for
from pipelines.engine.watchdog import EngineGone
from pipelines.engine_modes import RemoteEngine
from pipelines.layout import Layout
from pipelines.params import AGAIN
from quantize.alone import alone
from quantize.chat_template import ChatTemplate
from registry.evidence import EngineRecord, ExecutionClass


def answers(session: Session) -> tuple[dict[Suite, list[Response]], EngineRecord]:
    """Every item's response in file order, and the record of the engine that made them.

    Only what is missing under the session's key is asked; nothing is started when nothing is missing. One process at
    a time works under a key, a second one waits.
    """
    with alone(session.folder / "lock", "asking for the same answers"):
        journals = {suite: Journal(session.folder, suite) for suite in session.plan.requests}
        path = session.folder / "engine.json"
        if any(journals[suite].missing(ids) for suite, ids in session.plan.answer_ids.items()) or not path.exists():
            with writing(session.folder):
                write_record(path, _serve(session, journals))
        rows = {suite: journals[suite].rows(ids) for suite, ids in session.plan.answer_ids.items()}
        return rows, read_record(path, EngineRecord)


def record_probes(session: Session) -> ProbeRecord:
    """Start the session's engine, ask it the probes and nothing else, and keep them at `session.probes`.

    Raises `InputError` for a remote engine: nothing shows which weights it loaded.
    """
    if isinstance(session.params.engine, RemoteEngine):
        raise InputError("engine.mode is remote: probes are recorded of an engine that this project starts (launch)")
    with alone(session.folder / "lock", "asking for the same answers"), reached(session) as endpoint:
        _keep_probes(session, endpoint, execution_of(session, endpoint))
    return read_record(session.probes, ProbeRecord)


def _serve(session: Session, journals: dict[Suite, Journal]) -> EngineRecord:
    with reached(session) as endpoint:
        execution = execution_of(session, endpoint)
        made = engine_record(session, endpoint, execution)
        drive = drive_of(session, endpoint)
        _check_before_first_item(session, endpoint, execution, list(journals.values()))
        _inspect(session, endpoint, drive)
        wall_s = dict(made.wall_s)
        for suite, journal in journals.items():
            wall_s[suite] = _ask_suite(session, suite, journal, drive, endpoint)
        if not isinstance(session.params.engine, RemoteEngine):
            # After the items, so that no cache or batch is another one than without probes.
            _keep_probes(session, endpoint, execution)
    return made.model_copy(update={"wall_s": wall_s})


def _check_before_first_item(
    session: Session, endpoint: Endpoint, execution: ExecutionClass, journals: Sequence[Journal]
) -> None:
    """The engine is ready and nothing was asked yet: what speaks against asking it at all is raised here."""
    _check_same_engine(session, execution, any(journal.has_answers() for journal in journals))
    engine = session.params.engine
    if isinstance(engine, RemoteEngine):
        folder = Path(engine.probes) if engine.probes else Layout.of(session.params.profile).root / PROBES
        reference = reference_for(folder, session.manifest.weights_digest, execution)
        probes = _probed(session, endpoint)
        if found := differences(reference, probes):
            raise InputError(
                f"{endpoint.url}: it calls itself {session.name} and answers otherwise than these weights do on "
                f"{execution.device} ({'; '.join(found)}; allowed are equal tokens and {TOLERANCE:g}); no item was "
                f"asked; deploy the checkpoint of that digest, or record its probes again if engine or card changed"
            )


def _inspect(session: Session, endpoint: Endpoint, drive: Drive) -> None:
    settings = session.params.engine.inspect
    if not settings.enabled:
        return
    try:
        found = inspect(session.plan, settings, asking(drive), drive.decode, _baseline_tokens(session))
    except EngineGone as error:
        raise endpoint.gone(f"the engine {error} while it was inspected (no item was asked)") from None
    write_record(session.folder / "inspection.json", found)


def _baseline_tokens(session: Session) -> dict[str, int]:
    """First tokens of the baseline's answers to the same prompts, by answer id; none where it was not run before."""
    layout, baseline = Layout.of(session.params.profile), session.params.runs[AGAIN].variant
    if session.run == baseline or not layout.engine(baseline).exists():
        return {}
    if read_record(layout.engine(baseline), EngineRecord).shared.prompts_sha256 != session.plan.prompts_sha256:
        return {}
    paths = [path for suite in session.plan.requests if (path := layout.responses(baseline, suite)).exists()]
    return first_tokens([row for path in paths for row in read_rows(path, Response)])


def _check_same_engine(session: Session, execution: ExecutionClass, has_answers: bool) -> None:
    """Answers that are kept from before must be of this very engine: the key does not know what only it can say."""
    path = session.folder / "execution.json"
    before = read_record(path, ExecutionClass) if path.exists() and has_answers else execution
    if before != execution:
        names = [name for name in ExecutionClass.model_fields if getattr(before, name) != getattr(execution, name)]
        changed = ", ".join(f"{name} {getattr(before, name)!r}, now {getattr(execution, name)!r}" for name in names)
        raise InputError(
            f"{session.folder}: the answers kept there are of another engine ({changed}); bring that engine back, or "
            "remove the folder to ask everything again"
        )
    write_record(path, execution)


def _keep_probes(session: Session, endpoint: Endpoint, execution: ExecutionClass) -> None:
    probes = _probed(session, endpoint)
    made = ProbeRecord(weights_digest=session.manifest.weights_digest, execution=execution, probes=probes)
    write_record(session.probes, made)


def _probed(session: Session, endpoint: Endpoint) -> list[Probe]:
    try:
        return ask_probes(drive_of(session, endpoint), ChatTemplate(session.served.folder), session.name)
    except EngineGone as error:
        raise endpoint.gone(f"the engine {error} while answering the probes (answers are kept; run again)") from None


def _ask_suite(session: Session, suite: Suite, journal: Journal, drive: Drive, endpoint: Endpoint) -> float:
    missing = journal.missing(session.plan.answer_ids[suite])
    requests = [request for request in session.plan.requests[suite] if request.answer_id in missing]
    total = len(session.plan.answer_ids[suite])
    started = time.monotonic()
    with tqdm(total=total, initial=total - len(missing), desc=f"{session.run} {suite}", disable=None) as bar:

        def keep(response: Response) -> None:
            journal.add(response)
            bar.update()

        try:
            ask_all(drive, requests, keep)
        except EngineGone as error:
            left = len(journal.missing(session.plan.answer_ids[suite]))
            kept = f"{total - left} of {total} {suite} answers are kept; run again"
            raise endpoint.gone(f"the engine {error} while answering ({kept})") from None
    return round(time.monotonic() - started, 1)
