"""Stage judge: a verdict for every answer of a run, and the metrics of all of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from evalsets.items import QaItem, Suite, ToolItem, Toolset
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError, read_rows, unique_by_id, write_record, write_rows
from evalsets.responses import Response
from judges.calls import judge_call
from judges.metrics import metrics
from judges.qa import judge_answer
from judges.verdicts import Verdict
from pipelines.layout import Layout
from pipelines.params import Params, load_params
from pipelines.stage import run_stage


def judge(params: Params, run: str) -> None:
    """Write `verdicts/<run>/<suite>.jsonl`, one row per item in file order, and `metrics/<run>.json`."""
    if run not in params.runs:
        raise InputError(f"--run {run}: unknown; allowed: {', '.join(params.runs)}")
    layout = Layout.of(params.profile)
    verdicts = {suite: judge_suite(params, suite, layout.responses(run, suite)) for suite in params.suites}
    for suite, rows in verdicts.items():
        write_rows(layout.verdicts(run, suite), rows)
    write_record(layout.metrics(run), metrics(verdicts))


def judge_suite(params: Params, suite: Suite, responses: Path) -> list[Verdict]:
    """The verdicts on a file of responses, in the suite's order. Raises `InputError` unless ids match exactly."""
    settings = params.suites[suite]
    items = load_suite(Path(settings.path), suite, settings.take)
    rows = unique_by_id(read_rows(responses, Response), "item_id", str(responses))
    wrong = sorted(rows.keys() ^ {item.id for item in items})
    if wrong:
        raise InputError(f"{responses}: ids differ from {settings.path}: {', '.join(wrong[:20])}; run generate again")
    toolsets = load_toolsets(Path(params.toolsets))
    return [_verdict(params, item, rows[item.id], toolsets) for item in items]


def _verdict(params: Params, item: QaItem | ToolItem, response: Response, toolsets: dict[str, Toolset]) -> Verdict:
    if isinstance(item, QaItem):
        return judge_answer(item, response)
    engine = params.engine
    return judge_call(item, toolsets[item.toolset].tools, response, engine.dialect, engine.tool_parser is not None)


def main() -> None:
    """Parse the command line and run the stage."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.judge", description=__doc__)
    parser.add_argument("--run", required=True, help="a run of the active profile")
    given = parser.parse_args()
    run_stage(lambda: judge(load_params(), given.run))


if __name__ == "__main__":
    main()
