"""Wrong answers made from a gold, each with the one label it must get: how a suite shows that its judge can see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from evalsets.items import Dialect, Tool, ToolItem
from evalsets.records import Json
from judges.call_shape import Tools, tools_by_name
from judges.damages import damaged
from judges.golds import call_text, completion, gold_arguments
from judges.keys import folded
from judges.number_classes import SAFE_INTEGER
from judges.scalars import is_number
from judges.schema import Place
from judges.values import equal

Arguments = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A completion that differs from a right one in one respect. The judge must find `label` in it and nothing else."""

    name: str
    raw: str
    label: str


def gold_completion(item: ToolItem, dialect: Dialect) -> str:
    """The completion that is right by the first accepted values; prose where no call is wanted."""
    if item.expect == "no_call" or not item.calls:
        return "好的，请先告诉我订单号。" if item.lang == "zh" else "Sure, please tell me the order number first."
    return completion([call_text(call.name, gold_arguments(call)) for call in item.calls], dialect)


def mutations(item: ToolItem, tools: Sequence[Tool], dialect: Dialect) -> list[Mutation]:
    """Every mutation that applies to an item, in a fixed order; `dialect` is hermes or bare.

    For `bare`, items of several calls have none but the order: there a list of calls is an error of its own.
    """
    declared = tools_by_name([(tool.function.name, tool.function.parameters) for tool in tools])
    if item.expect != "call" or not item.calls:
        if item.expect != "no_call":
            return []
        return [Mutation("call", completion([call_text(next(iter(declared)), {})], dialect), "call_unneeded")]
    if dialect == "bare" and len(item.calls) > 1:
        return []
    texts = [call_text(call.name, gold_arguments(call)) for call in item.calls]
    found: list[Mutation] = []
    for index, call in enumerate(item.calls):

        def put(text: str, at: int = index) -> str:
            return completion([*texts[:at], text, *texts[at + 1 :]], dialect)

        arguments, place = gold_arguments(call), declared[call.name]
        for name, label, changed in _changed(arguments, place, {k for k, a in call.args.items() if a.omit_ok}):
            found.append(Mutation(f"{name} in call {index}", put(call_text(call.name, changed)), label))
        for kind, text in damaged(call.name, arguments):
            found.append(Mutation(f"{kind} in call {index}", put(text), f"json_syntax.{kind}"))
    return [*found, *_call_sets(item, texts, declared, lambda calls: completion(calls, dialect))]


def _call_sets(
    item: ToolItem, texts: list[str], declared: Tools, write: Callable[[list[str]], str]
) -> Iterator[Mutation]:
    if len(texts) > 1:
        yield Mutation("last call left out", write(texts[:-1]), "missing_call")
    if item.order == "strict" and texts != texts[::-1]:
        yield Mutation("calls in reverse", write(texts[::-1]), "call_order")
    others = [name for name in declared if all(name != call.name for call in item.calls)]
    if len(texts) == 1 and others:
        yield Mutation("another tool", write([call_text(others[0], {})]), "wrong_tool")


def _changed(arguments: Arguments, place: Place, optional: set[str]) -> Iterator[tuple[str, str, Arguments]]:
    """(what was done, label, changed arguments) for every change of one argument."""
    for key, value in arguments.items():
        inside = place.key(key)
        yield from ((f"{name} at {key}", label, {**arguments, key: new}) for name, label, new in _other(value, inside))
        default = inside.default()
        if key not in optional and not (default and equal(default[0], value, inside)):
            yield f"without {key}", "missing_key", {k: v for k, v in arguments.items() if k != key}
        spelled = _other_spelling(key, place)
        if spelled:
            renamed = {spelled if k == key else k: v for k, v in arguments.items()}
            yield f"{spelled} for {key}", "key_case", renamed
    yield "one key more", "extra_key", {**arguments, "unasked_for": "unasked for"}


def _other(value: Json, place: Place) -> Iterator[tuple[str, str, Json]]:
    if isinstance(value, int | Decimal) and is_number(value):
        amount = Decimal(value)
        if abs(amount) <= SAFE_INTEGER:
            yield "drift", "float_drift", amount + (Decimal("1e-7") if abs(amount) >= 1 else Decimal("1e-10"))
        if "string" not in place.types():
            yield "string", "stringified", str(value)
    choices = place.choices()
    if isinstance(value, str) and choices:
        other = next((form for form in (value.upper(), value.lower(), value.title()) if form not in choices), None)
        if other is not None:
            yield "letter case", "enum_case", other


def _other_spelling(key: str, place: Place) -> str | None:
    """The key in another spelling that is not declared, nor taken for another declared key."""
    declared = place.properties()
    if sum(folded(other) == folded(key) for other in declared) > 1:
        return None
    forms = (key.upper(), key.lower(), key.replace("_", ""), f"{key}_")
    return next((form for form in forms if form not in declared and form != key), None)
