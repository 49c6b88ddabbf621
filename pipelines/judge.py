"""Stage judge: a verdict for every answer of a run, and the metrics of all of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from evalsets.items import Item
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError, read_rows, write_record, write_rows
from evalsets.responses import Response
from judges.metrics import summarise
from judges.suite import Setting, judge_suite
from judges.verdicts import Verdict
from pipelines.layout import Layout
from pipelines.params import Params, load_params
from pipelines.stage import run_stage


def judge(params: Params, run: str) -> None:
    """Write `verdicts/<run>/<suite>.jsonl`, one row per item and pass in file order, and `metrics/<run>.json`."""
    if run not in params.runs:
        raise InputError(f"--run {run}: unknown; allowed: {', '.join(params.runs)}")
    layout = Layout.of(params.profile)
    engine = params.engine
    setting = Setting(load_toolsets(Path(params.toolsets)), engine.dialect, engine.tool_parser is not None)
    items: dict[str, Item] = {}
    verdicts: list[Verdict] = []
    for suite, settings in params.suites.items():
        asked = load_suite(Path(settings.path), suite, settings.take)
        path = layout.responses(run, suite)
        rows = judge_suite(asked, settings.runs, read_rows(path, Response), setting, str(path))
        write_rows(layout.verdicts(run, suite), rows)
        items |= {item.id: item for item in asked}
        verdicts += rows
    write_record(layout.metrics(run), summarise(verdicts, items))


def main() -> None:
    """Parse the command line and run the stage."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.judge", description=__doc__)
    parser.add_argument("--run", required=True, help="a run of the active profile")
    given = parser.parse_args()
    run_stage(lambda: judge(load_params(), given.run))


if __name__ == "__main__":
    main()
