"""Stage generate: one run of the suites under a real engine, and the record of that engine."""

from __future__ import annotations

import argparse

from evalsets.items import Suite
from evalsets.records import InputError, file_sha256, read_record, write_record, write_rows
from evalsets.responses import Logprobs, Response
from pipelines.attempts import add_attempt
from pipelines.engine.disk import writing
from pipelines.engine.prepare import prepare
from pipelines.engine.probes import PROBES, ProbeRecord
from pipelines.engine.served import served_folder
from pipelines.engine.session import answers
from pipelines.layout import Layout
from pipelines.params import Params, load_params
from pipelines.stage import run_stage
from quantize.manifest import load_manifest
from registry.evidence import EngineRecord


def generate(params: Params, run: str) -> None:
    """Write a run's responses and log-probabilities, a row per item and pass in file order, and its engine record.

    The answers are entered into the ledger of attempts. The probes of an engine that was started here are written to
    `probes/`, one file per weights digest and execution class.
    """
    if run not in params.runs:
        raise InputError(f"--run {run}: unknown; allowed: {', '.join(params.runs)}")
    layout = Layout.of(params.profile)
    variant = params.runs[run].variant
    manifest = load_manifest(layout.manifest(variant))
    served = served_folder(layout.checkpoint(variant), manifest, params.engine.device)
    session = prepare(params, run, manifest, served)
    rows, record = answers(session)
    with writing(layout.root):
        _publish(layout, run, rows, record)
        if session.probes.exists():
            probes = read_record(session.probes, ProbeRecord)
            write_record(layout.root / PROBES / probes.file_name, probes)


def _publish(layout: Layout, run: str, rows: dict[Suite, list[Response]], record: EngineRecord) -> None:
    for suite, responses in rows.items():
        write_rows(layout.responses(run, suite), (row.model_copy(update={"logprobs": None}) for row in responses))
        chosen = [Logprobs(item_id=row.item_id, run=row.run, logprobs=row.logprobs or []) for row in responses]
        write_rows(layout.logprobs(run, suite), chosen)
        failed = sum(response.status == "infra" for response in responses)
        again = f"; to ask them again: dvc repro --force --single-item generate@{run}" if failed else ""
        print(f"{run} {suite}: {len(responses)} answers asked for, {failed} not had{again}")
    digests = {suite: file_sha256(layout.responses(run, suite)) for suite in rows}
    whole = record.model_copy(update={"responses": digests})
    write_record(layout.engine(run), whole)
    add_attempt(layout, whole)


def main() -> None:
    """Parse the command line and run the stage."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.generate", description=__doc__)
    parser.add_argument("--run", required=True, help="a run of the active profile: a variant or baseline-again")
    given = parser.parse_args()
    run_stage(lambda: generate(load_params(), given.run))


if __name__ == "__main__":
    main()
