"""What the judge is fuzzed with: real outputs, cases, golds and examples, changed at random; and hostile texts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

from evalsets.items import Dialect, FunctionCall, Tool, ToolItem
from evalsets.load import load_tools, load_toolsets
from evalsets.records import read_rows
from evalsets.responses import EngineParse, Response
from judges.calls import judge_call
from judges.cases import judge_case, read_line
from judges.golds import gold_arguments
from judges.labels import EXAMPLE_TOOLS
from judges.mutations import gold_completion, mutations
from judges.taxonomy import LABELS
from judges.verdicts import Verdict
from tests.judges.hostile import HOSTILE, hostile_entries

ROOT = Path(__file__).parent.parent.parent
DATA = Path(__file__).parent / "data"
FORMS = ("arguments", "hermes", "bare", "qwen_xml", "tool_calls")
SOURCES = ("an answer of a run", "a case", "a gold", "an example")
FINISHES = (None, "stop", "length", "tool_calls")
PIECES = [
    *("<tool_call>", "</tool_call>", "<think>", "</think>", "```json\n", "<|im_end|>", '"name"', '"arguments"'),
    *("<function=refund>", "</function>", "<parameter=qty>", "</parameter>", "null", "NaN", '{"a":1}', ",,", "}}", "]"),
    *('\\"', "\\u12", "12,900", "1e999999999999999999999", "9" * 400, "“", "：", "１２", "\x00", "\ud800", "[" * 300),
]


@dataclass(frozen=True, slots=True)
class Seed:
    """A text that a model wrote or might have written. `judge` judges a text in its place, in a form, as it ended."""

    about: str
    text: str
    form: str
    judge: Callable[[str, str, str | None], Verdict]


@dataclass(frozen=True, slots=True)
class Input:
    """One input: what it is, what is judged, and how."""

    about: str
    raw: Any
    judge: Callable[[], Verdict]


def example_row(raw: Any, form: str, finish: str | None, wanted: bool) -> dict[str, Any]:
    """A row for `judge_case` on the tools of the taxonomy's examples."""
    return {
        "tool_schema": [{"name": name, "parameters": parameters} for name, parameters in EXAMPLE_TOOLS.items()],
        "expected": [{"name": "refund", "arguments": {"amount": 12900}}] if wanted else [],
        "raw": raw,
        "form": form,
        "called_name": "refund",
        "finish_reason": finish,
    }


def seeds() -> list[Seed]:
    """Every text that inputs are made of: answers of runs at hand, the case files, golds, their mutations, examples."""
    return [*_answers(), *_cases(), *_golds(), *_examples()]


def _answers() -> list[Seed]:
    paths = sorted([*ROOT.glob("evidence/*/responses/*/tools.jsonl"), *ROOT.glob("runs/*/responses/*/tools.jsonl")])
    items, toolsets = _suite(), load_toolsets(ROOT / "evalsets/data/toolsets.json")
    found = []
    for response in (response for path in paths for response in read_rows(path, Response)):
        item = items.get(response.item_id)
        if item is not None:
            judge = partial(_judge_answer, item, toolsets[item.toolset].tools, response)
            found.append(Seed("an answer of a run", response.raw, "hermes", judge))
    return found


def _cases() -> list[Seed]:
    rows = [read_line(line) for line in (DATA / "cases.jsonl").read_text("utf-8").splitlines()]
    found = []
    for row in rows:
        raw = row["raw"]
        text = raw if isinstance(raw, str) else "" if raw is None else json.dumps(raw, ensure_ascii=False, default=str)
        found.append(Seed("a case", text, row["form"], partial(_judge_row, row)))
    return found


def _golds() -> list[Seed]:
    toolsets = load_toolsets(ROOT / "evalsets/data/toolsets.json")
    found = []
    for item in _suite().values():
        tools = toolsets[item.toolset].tools
        blank = Response(item_id=item.id, suite="tools", status="ok")
        judge = partial(_judge_answer, item, tools, blank)
        made = [(form, gold_completion(item, form)) for form in ("hermes", "bare")]
        made += [("hermes", mutation.raw) for mutation in mutations(item, tools, "hermes")]
        found += [Seed("a gold", text, form, judge) for form, text in [*made, ("qwen_xml", xml_completion(item))]]
    return found


def _examples() -> list[Seed]:
    judge = partial(_judge_row, example_row("", "hermes", None, True))
    texts = [(label.form, text) for label in LABELS.values() for text in (label.example, label.near_miss) if text]
    return [Seed("an example", text, form, judge) for form, text in texts if form in FORMS]


def _suite() -> dict[str, ToolItem]:
    return {item.id: item for item in load_tools(ROOT / "evalsets/data/tool_calls.jsonl")}


def xml_completion(item: ToolItem) -> str:
    """The right answer to an item in the qwen_xml dialect."""
    blocks = []
    for call in item.calls:
        values = gold_arguments(call).items()
        written = {key: value if isinstance(value, str) else json.dumps(value, default=str) for key, value in values}
        parameters = "".join(f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in written.items())
        blocks.append(f"<tool_call>\n<function={call.name}>\n{parameters}</function>\n</tool_call>")
    return "\n".join(blocks)


def _judge_row(row: Mapping[str, Any], text: str, form: str, finish: str | None) -> Verdict:
    called = row.get("called_name") or row["tool_schema"][0]["name"]
    raw = _entries(text, called) if form == "tool_calls" else text
    return judge_case({**row, "raw": raw, "form": form, "finish_reason": finish, "called_name": called})


def _entries(text: str, called: str) -> list[Any]:
    """A `tool_calls` list from a text: what it holds if it is JSON, else it is the text of the arguments."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, list) else [{"function": {"name": called, "arguments": value or text}}]


def _judge_answer(
    item: ToolItem, tools: list[Tool], response: Response, text: str, form: str, finish: str | None
) -> Verdict:
    """As the pipeline judges; the engine's parse is made of the same text. Unlike a row that is read, unchecked:
    a text may hold lone surrogates."""
    call = FunctionCall.model_construct(name=tools[0].function.name, arguments=text)
    parsed = EngineParse.model_construct(content=None, tool_calls=[call])
    answer = response.model_copy(update={"raw": text, "finish_reason": finish, "parsed": parsed})
    dialect: Dialect = next((known for known in get_args(Dialect) if known == form), "hermes")
    return judge_call(item, tools, answer, dialect, engine_reads=form in ("arguments", "tool_calls", "hermes"))


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _drop(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randrange(1, 6) :]


def _insert(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(PIECES) + text[at:]


def _repeat(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at : at + 5] * 30 + text[at + 5 :]


def _replace(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + chr(rng.choice([rng.randrange(0x80), rng.randrange(0x10000), 0x1F600])) + text[at + 1 :]


def _swap(text: str, rng: random.Random) -> str:
    first, second, third = sorted(rng.randrange(len(text) + 1) for _ in range(3))
    return text[:first] + text[second:third] + text[first:second] + text[third:]


def _bytes(text: str, rng: random.Random) -> str:
    """One to four bytes of the UTF-8 text changed, taken out or put in; what is no UTF-8 then becomes surrogates."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(data) + 1)
        data[at : at + rng.randrange(2)] = rng.randbytes(rng.randrange(2))
    return data.decode("utf-8", rng.choice(["replace", "surrogateescape"]))


def _bits(text: str, rng: random.Random) -> str:
    """One bit of the UTF-8 text flipped."""
    data = bytearray(text.encode("utf-8", "surrogatepass") or b"\0")
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data.decode("utf-8", "surrogateescape")


MUTATORS: list[Callable[[str, random.Random], str]] = [_cut, _drop, _insert, _repeat, _replace, _swap, _bytes, _bits]


def make_input(number: int, seed: int, corpus: list[Seed], hostile_rate: float) -> Input:
    """Input `number` of the run that `seed` names: always the same one for the same corpus."""
    rng = random.Random(f"{seed} {number}")
    finish = rng.choice(FINISHES)
    if rng.random() < hostile_rate:
        return _hostile(rng, finish)
    start = rng.choice(corpus)
    text = start.text
    for _ in range(rng.choice([1, 1, 2, 4])):
        if rng.random() < 0.1:
            other = rng.choice(corpus).text
            text = _cut(text, rng) + other[rng.randrange(len(other) + 1) :]
        else:
            text = rng.choice(MUTATORS)(text, rng)
    form = rng.choice([start.form, start.form, *FORMS])
    return Input(f"{start.about}, as {form}", text, partial(start.judge, text, form, finish))


def example_input(name: str, text: str, form: str, finish: str | None, wanted: bool) -> Input:
    """A text judged in a form, on the tools of the taxonomy's examples."""
    row = example_row("", form, finish, wanted)
    return Input(f"{name}, as {form}", text, partial(_judge_row, row, text, form, finish))


def entries_input(name: str, entries: list[Any], finish: str | None, wanted: bool) -> Input:
    """A `tool_calls` list, judged on the tools of the taxonomy's examples."""
    row = example_row(entries, "tool_calls", finish, wanted)
    return Input(f"{name}, as tool_calls", entries, partial(judge_case, row))


def _hostile(rng: random.Random, finish: str | None) -> Input:
    """A hostile text of 500 to 65,000 characters (of a hundred, two are a megabyte), or a hostile `tool_calls` list."""
    length = 1 << 20 if rng.random() < 0.02 else int(500 * 130 ** rng.random())
    wanted = rng.random() < 0.8
    if rng.random() < 0.1:
        name, entries = rng.choice(list(hostile_entries(length).items()))
        return entries_input(name, entries, finish, wanted)
    name = rng.choice(list(HOSTILE))
    return example_input(name, HOSTILE[name](length), rng.choice(FORMS), finish, wanted)
