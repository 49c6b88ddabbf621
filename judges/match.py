"""Which call was meant for which gold call, and what differs: an optimal assignment, not a greedy one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy
from scipy.optimize import linear_sum_assignment

from evalsets.items import GoldCall
from evalsets.records import Json
from judges.call_shape import Call, Tools
from judges.findings import Finding, at, pointer, spell
from judges.schema import Place
from judges.tool_names import name_class
from judges.values import compare_object, cost, frozen

_ERROR = 16
_UNREADABLE = 1_000  # arguments that could not be read may be any
_OTHER_NAME = {"tool_name_case": 100_000, "tool_name_polluted": 100_000}
_OTHER_TOOL = 1_000_000
_MAX_CALLS = 64  # beyond it calls are surplus without being compared
_ANYTHING = Place({}, {})


@dataclass(frozen=True, slots=True)
class Pair:
    """A call against a gold call: what differs, and how far it is from right."""

    findings: tuple[Finding, ...]
    cost: int


def compare_calls(gold: Sequence[GoldCall], calls: Sequence[Call], tools: Tools, strict_order: bool) -> list[Finding]:
    """What differs between the calls made and the calls wanted, after the cheapest pairing of the two."""
    if len(gold) == 1 and len(calls) == 1:
        return list(compare_call(gold[0], calls[0], 0, tools).findings)
    seen = calls[:_MAX_CALLS]
    straight = [compare_call(wanted, call, i, tools) for i, (call, wanted) in enumerate(zip(seen, gold, strict=False))]
    if len(gold) == len(calls) == len(straight) and not any(pair.findings or pair.cost for pair in straight):
        return []  # right call by call, and no other pairing is as cheap
    table = [
        [straight[i] if g == i else compare_call(wanted, call, i, tools) for g, wanted in enumerate(gold)]
        for i, call in enumerate(seen)
    ]
    pairs = _assign(table)
    findings = [finding for i, g in pairs for finding in table[i][g].findings]
    wanted_indices = {g for _, g in pairs}
    for g, wanted in enumerate(gold):
        if g not in wanted_indices:
            findings.append(Finding("missing_call", expected=_spell_gold(wanted)))
    findings += _surplus(calls, {i for i, _ in pairs}, tools)
    if strict_order and [g for _, g in pairs] != sorted(g for _, g in pairs):
        order = ", ".join(wanted.name for wanted in gold)
        findings.append(Finding("call_order", expected=order, got=", ".join(call.name or "?" for call in calls)))
    return findings


def compare_call(wanted: GoldCall, call: Call, index: int, tools: Tools) -> Pair:
    """One call against one gold call. Paths start with the call's index."""
    findings: list[Finding] = []
    price = 0
    if call.name is None:
        return Pair((), _UNREADABLE)
    if call.name != wanted.name:
        kind = name_class(wanted.name, call.name, tools)
        findings.append(Finding(kind, pointer(index, "name"), wanted.name, spell(call.name)[1:-1], call.span))
        price = _OTHER_NAME.get(kind, _OTHER_TOOL)
        if price == _OTHER_TOOL:
            return Pair(tuple(findings), price)
    if call.arguments is None:
        return Pair(tuple(findings), price + _UNREADABLE)
    accepted = {key: argument.any_of for key, argument in wanted.args.items()}
    optional = {key for key, argument in wanted.args.items() if argument.omit_ok}
    place = tools.get(wanted.name, _ANYTHING)
    inside = compare_object(accepted, optional, call.arguments, place, (index, "arguments"))
    if call.span:
        inside = [at(finding, call.span) for finding in inside]
    return Pair((*findings, *inside), price + min(_distance(inside), _UNREADABLE * 10))


def _distance(findings: Sequence[Finding]) -> int:
    """The cost of findings as one number, so that the costs of several calls can be added."""
    errors, vagueness, count = cost(findings)
    return _ERROR * errors + vagueness + count


def _assign(table: Sequence[Sequence[Pair]]) -> list[tuple[int, int]]:
    """The cheapest (call, gold) pairs in the order of the calls; of equally cheap ones those that keep the order."""
    if not table or not table[0]:
        return []
    width = len(table) + len(table[0])
    costs = [[pair.cost * width * width + abs(i - g) for g, pair in enumerate(row)] for i, row in enumerate(table)]
    rows, columns = linear_sum_assignment(numpy.array(costs, dtype=numpy.int64))
    return sorted(zip(rows.tolist(), columns.tolist(), strict=True))


def _surplus(calls: Sequence[Call], paired: set[int], tools: Tools) -> list[Finding]:
    """Calls that nobody wanted: repetitions of another one, or ones too many (some of tools that do not exist)."""
    surplus = [(i, call) for i, call in enumerate(calls) if i not in paired]
    made = Counter(_same(call) for call in calls[:_MAX_CALLS]) if surplus else Counter()
    findings: list[Finding] = []
    for i, call in surplus:
        readable = call.name is not None and call.arguments is not None
        kind = "duplicate_call" if readable and i < _MAX_CALLS and made[_same(call)] > 1 else "extra_call"
        findings.append(Finding(kind, pointer(i), got=spell(call.name or "?")[1:-1], span=call.span))
        if call.name is not None and call.name not in tools:
            findings.append(replace(findings[-1], kind="hallucinated_tool", path=pointer(i, "name")))
    return findings


def _same(call: Call) -> Hashable:
    """What two calls share that are one and the same."""
    return call.name, None if call.arguments is None else frozen(call.arguments)


def _spell_gold(wanted: GoldCall) -> str:
    arguments: dict[str, Json] = {key: argument.any_of[0] for key, argument in wanted.args.items()}
    return f"{wanted.name} {spell(arguments)}"
