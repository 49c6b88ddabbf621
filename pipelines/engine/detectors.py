"""What is visibly wrong with an engine before a suite is spent on it: a few answers and prompts are enough. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

LONGEST_CYCLE = 8  # tokens: a character of rare script has up to 4, a short sentence about 8
FEWEST_TOKENS = 8  # below that a repetition is an answer ("!!!", "ha ha ha"), not a fault
FEWEST_REPEATS = 4
FILLED = 0.75  # of the answer: what stands before the cycle is a false start, not a text
# Zeros in a table, an array or a number repeat in sound answers too; none of ours asks for this many tokens of them.
FEWEST_DIGIT_TOKENS = 64
# Engines write a log-probability of minus infinity, and NaN, as this value: JSON has neither.
FLOOR = -9999.0
DOUBLED = re.compile(r'\{\s*\{\s*"')  # in no JSON: an object holds no object without a key

Rendering = Literal["json", "damaged", "not checked"]


@dataclass(frozen=True)
class Cycle:
    """The tokens that an answer ends in over and over, as text, and how often they stand there."""

    text: str
    repeats: int


@dataclass(frozen=True)
class Tools:
    """How a prompt shows its tools, and where it is `damaged` or `not checked`, what was found."""

    rendering: Rendering
    found: str = ""


def repetition(ids: Sequence[int], decode: Callable[[list[int]], str], finished: bool) -> Cycle | None:
    """The cycle that fills an answer's token ids, or None where the answer is none of a broken model.

    One token fills it if it makes up at least three quarters and repeats to the end, 8 times or more. So does a cycle
    of 2 to 8 tokens that stands there 4 times or more, but only where the answer was cut off (`finished` false): a
    sound list may repeat itself and stop, a broken model does not stop. With a digit in the cycle (tables and arrays
    of zeros) 64 tokens are wanted, cut off. `finished` answers end in a token that is not counted.
    """
    told = list(ids[:-1] if finished else ids)
    for length in range(1, LONGEST_CYCLE + 1):
        repeated = _repeated(told, length)
        if repeated < max(FEWEST_TOKENS, FEWEST_REPEATS * length, FILLED * len(told)):
            continue
        text = decode(told[-length:])
        has_digit = any(letter.isdigit() for letter in text)
        if finished and (length > 1 or has_digit):
            return None
        if has_digit and repeated < FEWEST_DIGIT_TOKENS:
            return None
        return Cycle(text, repeated // length)
    return None


def _repeated(ids: Sequence[int], length: int) -> int:
    """How many tokens at the end repeat those `length` places before them, the first round included."""
    same = 0
    while same + length < len(ids) and ids[-1 - same] == ids[-1 - same - length]:
        same += 1
    return same + length if same else 0


def without_logprob(logprobs: Sequence[float] | None, tokens: int) -> int:
    """How many of an answer's tokens have no finite log-probability: none was sent, or it is NaN or minus infinity."""
    finite = [value for value in logprobs or () if math.isfinite(value) and value > FLOOR]
    return max(tokens - len(finite), len(logprobs or ()) - len(finite))


def first_token_agreement(baseline: Mapping[str, int], candidate: Mapping[str, int]) -> float | None:
    """The share, 0 to 1, of answer ids in both whose first tokens are equal; None where no id is in both."""
    common = baseline.keys() & candidate.keys()
    return sum(baseline[name] == candidate[name] for name in common) / len(common) if common else None


def prompt_difference(planned: Sequence[int], seen: Sequence[int]) -> int | None:
    """The first position at which the engine's prompt is not the planned one; None where they are equal.

    Where one ends before the other, it is the shorter one's length.
    """
    shorter = None if len(planned) == len(seen) else min(len(planned), len(seen))
    pairs = zip(planned, seen, strict=False)
    return next((place for place, (ours, theirs) in enumerate(pairs) if ours != theirs), shorter)


def tools_rendered(text: str, tools: Sequence[Mapping[str, Any]]) -> Tools:
    """Whether every tool of a request stands in its rendered prompt as JSON equal to what was sent.

    `json` if it does, whole or as its `function` part alone, and no tool stands in doubled braces (`{{"type": ...}}`).
    `damaged` if a tool's name is nowhere, or JSON was meant: other tools stand there as JSON, or an object that names
    the tool is not what was sent. Else `not checked`: a template may show tools in another notation.
    """
    shown = list(_objects(text))
    values = {_spelling(value) for value, _ in shown}
    names = [str(_function(tool)["name"]) for tool in tools]
    missing = [
        name
        for name, tool in zip(names, tools, strict=True)
        if not values & {_spelling(tool), _spelling(_function(tool))}
    ]
    damage = next(_damages(text, shown, names, missing), None)
    if damage is not None:
        return Tools("damaged", damage)
    return Tools("not checked", "the template does not show tools as JSON") if missing else Tools("json")


def _damages(
    text: str, shown: Sequence[tuple[dict[str, Any], bool]], names: Sequence[str], missing: Sequence[str]
) -> Iterator[str]:
    """What is wrong with tools in a prompt; `missing` are those that do not stand there as JSON."""
    for name in names:
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
            yield f"the tool {name} is nowhere in the prompt"
    for value, doubled in shown:
        if doubled and (described := _names(value, names)):
            yield f"the tool {described} stands in doubled braces"
        if described := _names(value, missing):
            yield f"the tool {described} is not shown as it was sent"
    if missing and DOUBLED.search(text):
        yield f"the tool {missing[0]} is no JSON, and braces are doubled"
    if missing and len(missing) < len(names):
        yield f"the tool {missing[0]} is no JSON, others are"


def _objects(text: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """Every JSON object of the text, those in lists of it included, and whether it stands in a further pair of braces.

    Only outermost objects: a tool's parameters are no objects of their own.
    """
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except ValueError:
            end = place + 1
        else:
            yield value, text[:place].rstrip().endswith("{") and text[end:].lstrip().startswith("}")
        place = text.find("{", end)


def _names(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The tool that an object is a description of: it carries its name, and is no call of it."""
    function = _function(value)
    is_tool = function is not value or "parameters" in value or "description" in value
    name = function.get("name")
    return name if is_tool and isinstance(name, str) and name in names else None


def _function(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    return function if isinstance(function, Mapping) else tool


def _spelling(value: Mapping[str, Any]) -> str:
    # Python holds 1, 1.0 and true for equal, a model does not.
    return json.dumps(value, sort_keys=True)
