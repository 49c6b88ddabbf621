"""Lint of the suites against judge and statistics: `python -m pipelines.lint_suites` for the active profile.

Every gold must be right under the judge, every mutation of a tool-call gold wrong by exactly the label it was made
for, and no two prompts nearly the same. Prints what the suites' sizes can decide. What needs the data alone is
`python -m evalsets.lint`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from rapidfuzz import fuzz, process
from tqdm import tqdm

from evalsets.items import Dialect, Item, QaItem, Tool, ToolItem, Toolset
from evalsets.load import load_qa, load_tools, load_toolsets
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
from registry.gate.power import smallest_margin

NEAR = 95.0  # rapidfuzz ratio, 0 to 100, from which two prompts count as the same
PSI = (0.02, 0.04, 0.06, 0.08)


def lint(params: Params) -> list[str]:
    """Every problem of the active profile's suites, one line each with the item's id, and the tables on stdout."""
    qa = load_qa(Path(params.suites["qa"].path))
    tools = load_tools(Path(params.suites["tools"].path))
    toolsets = load_toolsets(Path(params.toolsets))
    found = [*qa_problems(qa), *tool_problems(tools, toolsets, params.engine.dialect), *near_duplicates([*qa, *tools])]
    made = sum(len(mutations(item, toolsets[item.toolset].tools, params.engine.dialect)) for item in tools)
    print(f"{made} mutations of {len(tools)} tool-call golds, each to be named by its label")
    for name, items in (("qa", qa), ("tools", tools)):
        print(size_table(name, items))
    return found


def qa_problems(items: Sequence[QaItem]) -> Iterator[str]:
    """Golds that the judge does not accept: each accepted answer alone, or the whole set."""
    for item in items:
        match = item.match
        whole = match.separators[0].join(item.answers) if match.kind == "set" else None
        for answer in [whole] if whole is not None else item.answers:
            verdict = judge_answer(item, _answer(item, answer))
            if not verdict.strict_ok:
                yield f"{item.id}: gold answer {answer!r} is judged {verdict.primary}; correct answers or normalisers"


def tool_problems(items: Sequence[ToolItem], toolsets: dict[str, Toolset], dialect: Dialect) -> Iterator[str]:
    """Golds that the judge does not accept, and mutations that it does not name as it must."""
    for item in tqdm(items, desc="tool-call golds and their mutations", disable=None):
        offered = toolsets[item.toolset].tools
        yield from schema_problems(item, offered)
        verdict = judge_call(item, offered, _answer(item, gold_completion(item, dialect)), dialect, False)
        if not verdict.strict_ok:
            yield f"{item.id}: the gold itself is judged {verdict.primary}; correct the gold or its schema"
        for mutation in mutations(item, offered, dialect):
            verdict = judge_call(item, offered, _answer(item, mutation.raw), dialect, False)
            if verdict.strict_ok or verdict.primary != mutation.label:
                yield f"{item.id}: mutation {mutation.name} is judged {verdict.primary}, not {mutation.label}"


def schema_problems(item: ToolItem, offered: Sequence[Tool]) -> Iterator[str]:
    """Accepted values that the tool's own schema refuses, each alternative on its own."""
    schemas = {tool.function.name: tool.function.parameters for tool in offered}
    for call in item.calls:
        first = gold_arguments(call)
        variants = [first]
        variants += [first | {key: value} for key, gold in call.args.items() for value in gold.any_of[1:]]
        for arguments in variants:
            for problem in violations(schemas[call.name], arguments):
                yield f"{item.id}: gold of {call.name}: {problem}; correct the gold or its schema"


def near_duplicates(items: Sequence[Item]) -> Iterator[str]:
    """Pairs of items whose last user messages are nearly the same text."""
    texts = {item.id: _last_user_text(item) for item in items}
    ids = list(texts)
    for number, item_id in enumerate(ids):
        later = {other: texts[other] for other in ids[number + 1 :]}
        for _, ratio, other in process.extract(texts[item_id], later, scorer=fuzz.ratio, score_cutoff=NEAR, limit=None):
            yield f"{item_id} and {other}: {ratio:.0f} % the same prompt; rewrite one of them"


def size_table(name: str, items: Sequence[Item]) -> str:
    """What a suite of this size can decide: the smallest margin with 80 % power at each psi, in pp. Calculated."""
    sizes = [f"{psi:.0%}: {100 * smallest_margin(len(items), 0.05, psi):.2f} pp" for psi in PSI]
    clusters = len({item.cluster for item in items})
    return f"{name}: {len(items)} items in {clusters} clusters; decidable margin at psi {', '.join(sizes)}"


def _last_user_text(item: Item) -> str:
    return next((message.content or "" for message in reversed(item.messages) if message.role == "user"), "")


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
