"""What we ask: items of the two suites, their gold answers, and the toolsets that tool-call items offer."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from evalsets.records import Json, Record

Domain = Literal["service", "knowledge", "contract", "tools"]
Lang = Literal["zh", "en"]
Role = Literal["system", "user", "assistant", "tool"]
Suite = Literal["qa", "tools"]
Split = Literal["release", "dev"]  # gates decide on `release`; `dev` is for tuning recipes
# The envelope a model is taught to write tool calls in: tagged JSON, bare JSON, or tagged parameters.
Dialect = Literal["hermes", "bare", "qwen_xml"]
Normaliser = Literal[
    "strip",  # surrounding white space
    "first_line",  # the first non-empty line only
    "drop_label",  # a leading "Answer:" / "答案：" / "答：" label
    "unquote",  # one pair of quotes, backticks or ** around the whole
    "trim_punct",  # closing punctuation 。．.!！?？;；,，、
    "ascii_width",  # full-width digits, letters and punctuation as ASCII
    "casefold",  # letter case
    "collapse_space",  # runs of white space as one space
    "drop_space",  # all white space
    "drop_thousands",  # separators between digit groups: 1,299 -> 1299
]
Text = Annotated[str, Field(min_length=1)]


class FunctionCall(Record):
    """A call inside an assistant message of the prompt. `arguments` is JSON text, as OpenAI spells it."""

    name: Text
    arguments: str


class MessageToolCall(Record):
    """One entry of an assistant message's `tool_calls`."""

    id: Text
    type: Literal["function"] = "function"
    function: FunctionCall


class Message(Record):
    """One chat message, as the OpenAI API takes it."""

    role: Role
    content: str | None = None
    tool_calls: list[MessageToolCall] | None = None
    tool_call_id: str | None = None


class Item(Record):
    """What every item has. Items of one `cluster` share a document or a toolset and are not independent."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{2,63}$")]
    domain: Domain
    cluster: Text
    split: Split
    lang: Lang
    tags: list[str] = []
    messages: Annotated[list[Message], Field(min_length=1)]
    must_pass: bool = False
    status: Literal["active", "retired"] = "active"


class ExactMatch(Record):
    """Right when the normalised answer equals one of the normalised `answers`."""

    kind: Literal["exact"]
    normalisers: list[Normaliser]


class NumericMatch(Record):
    """Right when the one number in the normalised answer is within `tolerance` of one of `answers`.

    Compared as Decimal, never rounded. `find`: `whole` = the answer is the number (and a unit of `units`, on
    either side) and nothing else; `only` = the answer holds exactly one number. `tolerance` is absolute.
    """

    kind: Literal["numeric"]
    normalisers: list[Normaliser]
    find: Literal["whole", "only"]
    tolerance: Annotated[str, Field(pattern=r"^\d+(\.\d+)?$")]
    units: list[str] = []


class ChoiceMatch(Record):
    """Right when the one option label (`options`, such as A to D) standing alone in the answer is the gold's."""

    kind: Literal["choice"]
    normalisers: list[Normaliser]
    options: Annotated[list[Text], Field(min_length=2)]


class ContainsMatch(Record):
    """Right when the normalised answer contains one of `answers` and none of `absent`."""

    kind: Literal["contains"]
    normalisers: list[Normaliser]
    absent: list[str] = []


class SetMatch(Record):
    """Right when the answer, split at `separators`, is exactly the set `answers`, in any order."""

    kind: Literal["set"]
    normalisers: list[Normaliser]
    separators: Annotated[list[Text], Field(min_length=1)]


Match = Annotated[ExactMatch | NumericMatch | ChoiceMatch | ContainsMatch | SetMatch, Field(discriminator="kind")]


class QaItem(Item):
    """A question with gold `answers` (any one is right, except `set`, where they are the set)."""

    answers: Annotated[list[Text], Field(min_length=1)]
    match: Match


class GoldArgument(Record):
    """The accepted values of one argument. `omit_ok`: leaving the argument out is right as well."""

    any_of: Annotated[list[Json], Field(min_length=1)]
    omit_ok: bool = False


class GoldCall(Record):
    """One call that is wanted. An argument that is not listed must not be given (unless it is the default)."""

    name: Text
    args: dict[str, GoldArgument]


class ToolItem(Item):
    """A request with tools at hand. `expect: either` accepts the calls of `calls` and no call alike."""

    toolset: Text
    expect: Literal["call", "no_call", "either"]
    calls: list[GoldCall] = []
    order: Literal["any", "strict"] = "any"


def _plain_numbers(value: Any) -> Any:
    """Decimals as floats: the engine takes a schema as ordinary JSON. `repr` of the float is the literal again."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _plain_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(inner) for inner in value]
    return value


class Function(Record):
    """A function that may be called; `parameters` is a JSON Schema (draft 2020-12) of an object."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: str
    parameters: Annotated[dict[str, Any], BeforeValidator(_plain_numbers)]


class Tool(Record):
    """A tool as the OpenAI API takes it."""

    type: Literal["function"] = "function"
    function: Function


class Toolset(Record):
    """Tools that are offered together. Items refer to a toolset by `name`."""

    name: Text
    tools: Annotated[list[Tool], Field(min_length=1)]


class ToolsetFile(Record):
    """The content of `toolsets.json`."""

    toolsets: list[Toolset]


class CalibrationRow(Record):
    """One conversation that calibration sees; `toolset` offers tools in its prompt."""

    id: Text
    lang: Lang
    toolset: str | None = None
    messages: Annotated[list[Message], Field(min_length=2)]
