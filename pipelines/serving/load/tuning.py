"""Which batching flags are tried, and which of them the goodput within the budget speaks for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from evalsets.records import InputError
from pipelines.serving.load.cells import cell, goodput_difference
from pipelines.serving.load.plan import flags_name
from pipelines.serving.load.results import Repeat
from pipelines.serving.load.settings import TuningSettings
from registry.load_profile import Budget, Cell, Flags, Interval, Tuning, TuningCell


def seqs_bound(kv_tokens: int, own_tokens_p95: float) -> int:
    """How many sequences the KV cache holds at once, 1 or more: its tokens over the p95 of a request's unshared ones.

    Raises `InputError` for numbers that are not above 0.
    """
    if kv_tokens <= 0 or own_tokens_p95 <= 0:
        raise InputError(f"KV cache of {kv_tokens} tokens, {own_tokens_p95} per request; give numbers above 0")
    return max(1, int(kv_tokens // own_tokens_p95))


def grid(settings: TuningSettings, default: Flags, seqs_bound: int) -> tuple[list[Flags], dict[str, str]]:
    """The flags to try, the default first whatever it is, the others in the settings' order, none twice.

    Second, by `flags_name`, the combinations left out and why: more sequences than `seqs_bound`, fewer batched tokens
    than sequences (the engine refuses that), or a threshold that bounds no prompt since a step has no more tokens.
    """
    tried, left_out = [default], {}
    for tokens, seqs, threshold in product(
        settings.max_num_batched_tokens, settings.max_num_seqs, settings.long_prefill_token_threshold
    ):
        flags = Flags(max_num_batched_tokens=tokens, max_num_seqs=seqs, long_prefill_token_threshold=threshold)
        if flags in tried:
            continue
        if why := _against(flags, seqs_bound):
            left_out[flags_name(flags)] = why
        else:
            tried.append(flags)
    return tried, left_out


def tune(
    tried: Sequence[tuple[Flags, Sequence[Sequence[Repeat]]]],
    budget: Budget,
    long_tokens: int,
    left_out: Mapping[str, str] | None = None,
) -> Tuning:
    """The flags to serve with, of those `tried`: each with the repeats of its cells, the default first.

    Each stands with its cell of the highest rate that kept the budget. Where none did, it stands with its lowest rate,
    and only the default may then be chosen. The best of the others is the one with the highest goodput. Where the
    lower bound of its difference to the default is above 0, it is chosen, or a smaller batch that ties with it: whose
    own difference to the default is above 0 too, and whose difference to the best may be 0 by its interval. Smaller is
    fewer batched tokens, then fewer sequences, then the lower threshold (0, none, first). `gain` is then the chosen
    one's difference, and it is `better`.

    Else the default is chosen and `gain` is the difference of the best of the others (of those that did not keep the
    budget, where none did), or 0 where there are none.

    Raises `InputError` where nothing was tried, flags come twice or have no cell, or a cell has no rate.
    """
    if not tried:
        raise InputError("tuning: nothing was tried; measure the default flags first")
    stands = [_stand(flags, cells, budget, long_tokens) for flags, cells in tried]
    if len({one.flags for one in stands}) < len(stands):
        raise InputError(f"tuning: flags come twice among {_names(stands)}; give each once")
    default, *others = stands
    gains = {one.flags: goodput_difference(one.repeats, default.repeats, budget) for one in others}
    chosen, gain, better = default, Interval(estimate=0, lower=0, upper=0), False
    able = [one for one in others if one.cell.kept]
    if best := max(able or others, key=lambda one: one.cell.goodput.estimate, default=None):
        gain = gains[best.flags]
        if best.cell.kept and gain.lower > 0:
            beats = [one for one in able if gains[one.flags].lower > 0]
            chosen = min((one for one in beats if _ties(one, best, budget)), key=_size)
            gain, better = gains[chosen.flags], True
    return Tuning(
        default=default.flags,
        chosen=chosen.flags,
        gain=gain,
        better=better,
        tried=[TuningCell(flags=one.flags, cell=one.cell) for one in stands],
        left_out=dict(left_out or {}),
    )


@dataclass(frozen=True)
class Stand:
    """Flags with the cell that speaks for them, and its repeats."""

    flags: Flags
    cell: Cell
    repeats: Sequence[Repeat]


def _stand(flags: Flags, cells: Sequence[Sequence[Repeat]], budget: Budget, long_tokens: int) -> Stand:
    found: list[tuple[float, Stand]] = []
    for repeats in cells:
        one = cell(repeats, budget, long_tokens)
        if one.rate is None or repeats[0].flags != flags:
            raise InputError(
                f"tuning: {flags_name(flags)} has a cell of {flags_name(repeats[0].flags)} at rate {one.rate}; "
                "give open-loop cells that were measured with these flags"
            )
        found.append((one.rate, Stand(flags, one, repeats)))
    if not found:
        raise InputError(f"tuning: {flags_name(flags)} has no cell; measure it, or leave the flags out")
    kept = [pair for pair in found if pair[1].cell.kept]
    return max(kept, key=lambda pair: pair[0])[1] if kept else min(found, key=lambda pair: pair[0])[1]


def _against(flags: Flags, bound: int) -> str:
    tokens, seqs, threshold = flags.max_num_batched_tokens, flags.max_num_seqs, flags.long_prefill_token_threshold
    reasons = []
    if seqs > bound:
        reasons.append(f"{seqs} sequences, the KV cache holds {bound}")
    if tokens < seqs:
        reasons.append(f"{tokens} batched tokens for {seqs} sequences, each needs one")
    if threshold >= tokens:
        reasons.append(f"a threshold of {threshold} bounds nothing with {tokens} batched tokens")
    return "; ".join(reasons)


def _ties(one: Stand, best: Stand, budget: Budget) -> bool:
    return one is best or goodput_difference(best.repeats, one.repeats, budget).lower <= 0


def _size(one: Stand) -> tuple[int, int, int]:
    flags = one.flags
    return flags.max_num_batched_tokens, flags.max_num_seqs, flags.long_prefill_token_threshold


def _names(stands: Sequence[Stand]) -> str:
    return ", ".join(flags_name(one.flags) for one in stands)
