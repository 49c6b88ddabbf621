"""Lint of the suites against judge and statistics: `python -m pipelines.lint_suites` for the active profile.

Every row must be the one that the folder's index holds, every gold right under the judge, and every mutation of a
tool-call gold wrong by exactly the label it was made for. Prints what the suites' sizes can decide. What needs the
data alone is `python -m evalsets.lint`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from evalsets.items import Dialect, Item, QaItem, Suite, Tool, ToolItem, Toolset
from evalsets.lint.folder import Folder, read_folder
from evalsets.lint.index import INDEX, index_of, index_problems, read_index
from evalsets.load import load_qa, load_tools, load_toolsets, row_lines
from evalsets.records import InputError
from evalsets.responses import Response
from judges.calls import judge_call
from judges.golds import gold_arguments
from judges.mutations import gold_completion, mutations
from judges.qa import judge_answer
from judges.schema import violations
from pipelines.params import PARAMS, Params
from pipelines.profiles import load_profile
from pipelines.stage import run_stage
from registry.gate.power import PSIS, smallest_margin


def lint(params: Params) -> list[str]:
    """Every problem of the active profile's suites, one line each with file, line and id, and the tables on stdout."""
    paths = {suite: Path(settings.path) for suite, settings in params.suites.items()}
    qa, tools, toolsets = load_qa(paths["qa"]), load_tools(paths["tools"]), load_toolsets(Path(params.toolsets))
    found = [text for folder in sorted({path.parent for path in paths.values()}) for text in changed_rows(folder)]
    found += _located(paths["qa"], "qa", qa_problems(qa))
    found += _located(paths["tools"], "tools", tool_problems(tools, toolsets, params.engine.dialect))
    made = sum(len(mutations(item, toolsets[item.toolset].tools, params.engine.dialect)) for item in tools)
    print(f"{made} mutations of {len(tools)} tool-call golds, each to be named by its label")
    for name, items in (("qa", qa), ("tools", tools)):
        print(size_table(name, items))
    return found


def changed_rows(folder: Path) -> list[str]:
    """Rows of a folder with an index that are lost, doubled, changed or new; none where there is no index."""
    if not (folder / INDEX).is_file():
        return []
    read: Folder = read_folder(folder)
    return [str(problem) for problem in index_problems(read, read_index(folder / INDEX), index_of(read))]


def qa_problems(items: Sequence[QaItem]) -> Iterator[tuple[str, str]]:
    """(id, fault) of golds that the judge does not accept: each accepted answer alone, or the whole set."""
    for item in items:
        match = item.match
        whole = match.separators[0].join(item.answers) if match.kind == "set" else None
        for answer in [whole] if whole is not None else item.answers:
            verdict = judge_answer(item, _answer(item, answer))
            if not verdict.strict_ok:
                yield item.id, f"gold answer {answer!r} is judged {verdict.primary}; correct answers or normalisers"


def tool_problems(
    items: Sequence[ToolItem], toolsets: dict[str, Toolset], dialect: Dialect
) -> Iterator[tuple[str, str]]:
    """(id, fault) of golds that the judge does not accept, and mutations that it does not name as it must."""
    for item in tqdm(items, desc="tool-call golds and their mutations", disable=None):
        offered = toolsets[item.toolset].tools
        yield from schema_problems(item, offered)
        verdict = judge_call(item, offered, _answer(item, gold_completion(item, dialect)), dialect, False)
        if not verdict.strict_ok:
            yield item.id, f"the gold itself is judged {verdict.primary}; correct the gold or its schema"
        for mutation in mutations(item, offered, dialect):
            verdict = judge_call(item, offered, _answer(item, mutation.raw), dialect, False)
            if verdict.strict_ok or verdict.primary != mutation.label:
                yield item.id, f"mutation {mutation.name} is judged {verdict.primary}, not {mutation.label}"


def schema_problems(item: ToolItem, offered: Sequence[Tool]) -> Iterator[tuple[str, str]]:
    """(id, fault) of accepted values that the tool's own schema refuses, each alternative on its own."""
    schemas = {tool.function.name: tool.function.parameters for tool in offered}
    for call in item.calls:
        first = gold_arguments(call)
        variants = [first]
        variants += [first | {key: value} for key, gold in call.args.items() for value in gold.any_of[1:]]
        for arguments in variants:
            for problem in violations(schemas[call.name], arguments):
                yield item.id, f"gold of {call.name}: {problem}; correct the gold or its schema"


def size_table(name: str, items: Sequence[Item]) -> str:
    """What a suite of this size can decide: the smallest margin with 80 % power at each psi, in pp. Calculated."""
    sizes = [f"{psi:.0%}: {100 * smallest_margin(len(items), 0.05, psi):.2f} pp" for psi in PSIS]
    clusters = Counter(item.cluster for item in items)
    spread = f"{len(clusters)} clusters of {min(clusters.values())} to {max(clusters.values())}"
    return f"{name}: {len(items)} items in {spread}; decidable margin at psi {', '.join(sizes)}"


def _located(path: Path, suite: Suite, found: Iterator[tuple[str, str]]) -> list[str]:
    lines = row_lines(path, suite)
    return [f"{path}:{lines[item_id]}: {item_id}: {text}" for item_id, text in found]


def _answer(item: Item, raw: str) -> Response:
    return Response(item_id=item.id, suite="qa" if isinstance(item, QaItem) else "tools", status="ok", raw=raw)


def main() -> None:
    """Lint the active profile's suites; exit code 2 with every problem on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.lint_suites",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--profile-file", type=Path, default=PARAMS, help="rendered profile (default: %(default)s)")
    given = parser.parse_args()

    def work() -> None:
        if found := lint(load_profile(given.profile_file)):
            raise InputError("\nerror: ".join(found))

    run_stage(work)


if __name__ == "__main__":
    main()
