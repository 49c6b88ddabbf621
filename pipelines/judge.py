"""Stage judge: a verdict for every answer of a run, and the metrics of all of them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from evalsets.items import Item, QaItem, ToolItem, Toolset
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError, read_rows, unique_by_id, write_record, write_rows
from evalsets.responses import Response, answer_id
from judges.calls import judge_call
from judges.metrics import summarise
from judges.qa import judge_answer
from judges.verdicts import Verdict
from pipelines.layout import Layout
from pipelines.params import Params, load_params
from pipelines.stage import run_stage


def judge(params: Params, run: str) -> None:
    """Write `verdicts/<run>/<suite>.jsonl`, one row per item and pass in file order, and `metrics/<run>.json`."""
    if run not in params.runs:
        raise InputError(f"--run {run}: unknown; allowed: {', '.join(params.runs)}")
    layout = Layout.of(params.profile)
    toolsets = load_toolsets(Path(params.toolsets))
    items: dict[str, Item] = {}
    verdicts: list[Verdict] = []
    for suite, settings in params.suites.items():
        asked = load_suite(Path(settings.path), suite, settings.take)
        wanted = {answer_id(item.id, n): item for n in range(settings.runs) for item in asked}
        answered = _by_answer(layout.responses(run, suite), wanted)
        rows = [_verdict(params, item, answered[name], toolsets) for name, item in wanted.items()]
        write_rows(layout.verdicts(run, suite), rows)
        items |= {item.id: item for item in asked}
        verdicts += rows
    write_record(layout.metrics(run), summarise(verdicts, items))


def _by_answer(path: Path, wanted: Mapping[str, Item]) -> dict[str, Response]:
    answered = unique_by_id(read_rows(path, Response), "answer_id", str(path))
    wrong = sorted(answered.keys() ^ wanted.keys())
    if wrong:
        raise InputError(f"{path}: ids differ from the suite's: {', '.join(wrong[:20])}; run generate again")
    return answered


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
