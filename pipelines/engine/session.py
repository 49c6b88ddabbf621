"""One run of the suites on one engine: start it, ask what is missing, keep the record."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from evalsets.items import Suite
from evalsets.records import read_record, write_record
from evalsets.responses import Response
from pipelines.engine import record
from pipelines.engine.drive import Drive, EngineGone, ask_all
from pipelines.engine.journal import Journal
from pipelines.engine.launch import Server, died, free_port, running
from pipelines.engine.plan import Plan, generation_key, plan_run
from pipelines.engine.served import Served
from pipelines.engine.settings import (
    api_key,
    engine_argv,
    engine_environment,
    recorded_argv,
    recorded_environment,
    served_name,
)
from pipelines.layout import WORK
from pipelines.params import Params
from quantize.alone import alone
from quantize.chat_template import ChatTemplate
from quantize.manifest import Manifest
from registry.evidence import EngineRecord, SharedSettings


@dataclass(frozen=True)
class Session:
    """A planned run: what is asked of what, under which key, and the command line that may be written down."""

    params: Params
    run: str
    manifest: Manifest
    served: Served
    name: str
    plan: Plan
    version: tuple[str, str]
    key: str

    @property
    def folder(self) -> Path:
        """Where this key's answers are kept between processes."""
        return WORK / "generate" / self.key


def prepare(params: Params, run: str, manifest: Manifest, served: Served) -> Session:
    """Plan a run. Nothing is started."""
    name = served_name(params.model.name, manifest.weights_digest)
    plan = plan_run(params, run, served.folder, name)
    version = record.engine_version(params.engine.command[0])
    argv = recorded_argv(engine_argv(params.engine, served.folder, name, port=0))
    environment = recorded_environment(engine_environment(params.engine))
    key = generation_key(plan, run, served.digest, argv, environment, "==".join(version))
    return Session(params, run, manifest, served, name, plan, version, key)


def answers(session: Session) -> tuple[dict[Suite, list[Response]], EngineRecord]:
    """Every item's response in file order, and the record of the engine that made them.

    Only what is missing under the session's key is asked; nothing is started when nothing is missing. One process at
    a time works under a key, a second one waits.
    """
    with alone(session.folder / "lock", "asking for the same answers"):
        journals = {suite: Journal(session.folder, suite) for suite in session.plan.requests}
        path = session.folder / "engine.json"
        if any(journals[suite].missing(ids) for suite, ids in session.plan.answer_ids.items()) or not path.exists():
            write_record(path, _serve(session, journals))
        rows = {suite: journals[suite].rows(ids) for suite, ids in session.plan.answer_ids.items()}
        return rows, read_record(path, EngineRecord)


def _serve(session: Session, journals: dict[Suite, Journal]) -> EngineRecord:
    engine = session.params.engine
    port = free_port()
    argv = engine_argv(engine, session.served.folder, session.name, port)
    environment = engine_environment(engine)
    log = session.folder / "engine.log"
    template = ChatTemplate(session.served.folder)
    with running(argv, environment, port, log, engine.start_timeout_s) as server:
        made = _record(session, server, recorded_argv(argv), recorded_environment(environment))
        wall_s = {"start": server.start_s}
        drive = Drive(
            server.url,
            engine.concurrency,
            engine.request_timeout_s,
            server.alive,
            template.decode,
            api_key=api_key(argv, environment),
        )
        for suite, journal in journals.items():
            wall_s[suite] = _ask_suite(session, suite, journal, drive, server)
    return made.model_copy(update={"wall_s": wall_s})


def _ask_suite(session: Session, suite: Suite, journal: Journal, drive: Drive, server: Server) -> float:
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
        except EngineGone:
            left = len(journal.missing(session.plan.answer_ids[suite]))
            kept = f"{total - left} of {total} {suite} answers are kept; run again"
            raise died(f"the engine ended or hung while answering ({kept})", server) from None
    return round(time.monotonic() - started, 1)


def _record(session: Session, server: Server, argv: list[str], environment: dict[str, str]) -> EngineRecord:
    params, engine, served, plan = session.params, session.params.engine, session.served, session.plan
    lines = record.kernel_lines(server.log)
    kernel = record.linear_kernel(lines, served.quantized)
    execution = record.execution_class(engine.device, engine.dtype, session.version, kernel, served.bits, served.note)
    shared = SharedSettings(
        suites=plan.suites,
        toolsets_sha256=plan.toolsets_sha256,
        template_sha256=plan.template_sha256,
        prompts_sha256=plan.prompts_sha256,
        sampling_sha256=plan.sampling_sha256,
        engine=execution.engine,
        engine_version=execution.engine_version,
        device=execution.device,
        compute_capability=execution.compute_capability,
        dtype=engine.dtype,
        attention_backend=record.attention_backend(lines),
        max_model_len=engine.max_model_len,
        max_num_seqs=engine.max_num_seqs,
        max_num_batched_tokens=engine.max_num_batched_tokens,
        prefix_caching=engine.prefix_caching,
    )
    return EngineRecord(
        profile=params.profile,
        run=session.run,
        variant=session.manifest.variant,
        weights_digest=session.manifest.weights_digest,
        served_digest=served.digest,
        served_name=session.name,
        mode=engine.mode,
        execution=execution,
        shared=shared,
        tool_parser=engine.tool_parser,
        dialect=engine.dialect,
        order_seed=plan.order_seed,
        generation_key=session.key,
        argv=argv,
        environment=environment,
        kernel_lines=lines,
        cache_config=record.cache_config(server.url),
        responses={},
        hardware=record.hardware(engine.device),
        wall_s={},
    )
